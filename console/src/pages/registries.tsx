import { Code, PasswordInput, TextInput } from '@mantine/core';
import { IconBrandDocker } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../api/client.ts';
import { registriesQuery } from '../api/queries.ts';
import { DeleteButton } from '../ui/confirm-delete.tsx';
import { FormButton } from '../ui/forms/form-button.tsx';
import { type Column, RecordPage } from '../ui/tables/record-page.tsx';
import { RecordName } from '../ui/text/record-name.tsx';

type Registry = Schemas['Registry'];

const COLUMNS: Column<Registry>[] = [
  { title: 'Name', render: ({ name }) => <RecordName>{name}</RecordName> },
  { title: 'ID', render: ({ id }) => <Code>{id}</Code> },
  {
    title: 'Actions',
    width: '90px',
    render: ({ id, name }) => (
      <DeleteButton
        what="registry credentials"
        name={name}
        queryKey="registries"
        consequence="Templates that use these credentials lose them. You can't delete credentials that an endpoint or pod uses."
        onConfirm={() => unwrap(api.DELETE('/v2/registries/{id}', { params: { path: { id } } }))}
      />
    ),
  },
];
const idOf = ({ id }: Registry) => id;
const textOf = ({ id, name }: Registry) => `${id} ${name}`;

export function RegistriesPage() {
  const query = useQuery(registriesQuery);
  return (
    <RecordPage
      title="Registries"
      action={<NewRegistry />}
      query={{ ...query, data: query.data?.registries }}
      empty={{
        icon: IconBrandDocker,
        title: 'No registry credentials yet',
        text: 'Add credentials to pull private images. They are used to pull images and for nothing else.',
      }}
      label="registries"
      columns={COLUMNS}
      idOf={idOf}
      textOf={textOf}
    />
  );
}

function NewRegistry() {
  return (
    <FormButton
      label="New registry"
      title="New registry credentials"
      queryKey="registries"
      summary={() => ({
        facts: [
          { label: 'Used', value: 'to pull images, and for nothing else' },
          { label: 'Chosen', value: 'in the form of an endpoint, a pod or a template' },
          { label: 'Shown', value: 'never again' },
        ],
      })}
      initial={{ name: '', username: '', password: '' }}
      onSubmit={(body) => unwrap(api.POST('/v2/registries', { body }))}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <TextInput label="Username" required autoComplete="off" {...form.getInputProps('username')} />
          <PasswordInput
            label="Password or token"
            description="Stored encrypted. You won't be able to view it again."
            required
            autoComplete="new-password"
            {...form.getInputProps('password')}
          />
        </>
      )}
    </FormButton>
  );
}
