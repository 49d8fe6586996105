import { PasswordInput, Text, TextInput } from '@mantine/core';
import { IconBrandDocker } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, type Schemas, unwrap } from '../api/client.ts';
import { EmptyState, Loaded, Page } from '../ui/page.tsx';
import { type Column, RecordList } from '../ui/record-list.tsx';
import { DeleteButton, FormButton } from '../ui/record-page.tsx';

type Registry = Schemas['Registry'];

const idOf = ({ id }: Registry) => id;
const textOf = ({ id, name }: Registry) => `${id} ${name}`;
const newRegistry = (
  <FormButton
    label="New registry"
    title="New registry credentials"
    queryKey="registries"
    initial={{ name: '', username: '', password: '' }}
    onSubmit={(body) => unwrap(api.POST('/v2/registries', { body }))}
  >
    {(form) => (
      <>
        <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
        <TextInput label="User name" required autoComplete="off" {...form.getInputProps('username')} />
        <PasswordInput
          label="Password or token"
          description="It is stored encrypted and never shown again"
          required
          autoComplete="new-password"
          {...form.getInputProps('password')}
        />
      </>
    )}
  </FormButton>
);

export function RegistriesPage() {
  const query = useQuery({ queryKey: ['registries'], queryFn: () => unwrap(api.GET('/v2/registries')) });
  const columns = useMemo<Column<Registry>[]>(
    () => [
      { title: 'Name', render: ({ name }) => <Text fw={550}>{name}</Text> },
      { title: 'Id', render: ({ id }) => <Text ff="monospace">{id}</Text> },
      {
        title: 'Actions',
        width: '90px',
        render: ({ id, name }) => (
          <DeleteButton
            what="registry"
            name={name}
            queryKey="registries"
            consequence="Templates that name it forget it. It cannot be deleted while an endpoint or a pod uses it."
            onConfirm={() => unwrap(api.DELETE('/v2/registries/{id}', { params: { path: { id } } }))}
          />
        ),
      },
    ],
    [],
  );
  return (
    <Page title="Registries" actions={newRegistry}>
      <Loaded query={query}>
        {({ registries }) =>
          registries.length === 0 ? (
            <EmptyState icon={IconBrandDocker} title="No registry credentials yet" action={newRegistry}>
              Private images need a user name and a password. They reach the pull of the image and nothing else.
            </EmptyState>
          ) : (
            <RecordList label="registries" items={registries} columns={columns} idOf={idOf} textOf={textOf} />
          )
        }
      </Loaded>
    </Page>
  );
}
