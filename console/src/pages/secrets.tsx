import { Badge, Code, Group, PasswordInput, Text, Textarea, TextInput } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, type Schemas, unwrap } from '../api/client.ts';
import { formatDate } from '../ui/format.ts';
import { EmptyState, Loaded, Page } from '../ui/page.tsx';
import { type Column, RecordList } from '../ui/record-list.tsx';
import { DeleteButton, FormButton } from '../ui/record-page.tsx';

type Secret = Schemas['Secret'];

const idOf = ({ id }: Secret) => id;
const textOf = ({ name, description }: Secret) => `${name} ${description ?? ''}`;
const orNull = (text: string) => (text === '' ? null : text);

const newSecret = (
  <FormButton
    label="New secret"
    title="New secret"
    queryKey="secrets"
    initial={{ name: '', value: '', description: '' }}
    onSubmit={({ name, value, description }) =>
      unwrap(api.POST('/v2/account/secrets', { body: { name, value, description: orNull(description) } }))
    }
  >
    {(form) => (
      <>
        <TextInput
          label="Name"
          description="Letters, digits and _ . - /"
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps('name')}
        />
        <PasswordInput
          label="Value"
          description="It is stored encrypted and never shown again"
          required
          autoComplete="new-password"
          {...form.getInputProps('value')}
        />
        <Textarea label="Description" autosize {...form.getInputProps('description')} />
      </>
    )}
  </FormButton>
);

export function SecretsPage() {
  const query = useQuery({ queryKey: ['secrets'], queryFn: () => unwrap(api.GET('/v2/account/secrets')) });
  const columns = useMemo<Column<Secret>[]>(
    () => [
      {
        title: 'Name',
        render: ({ name, description }) => (
          <Text fw={550} title={description ?? ''}>
            {name}
          </Text>
        ),
      },
      {
        title: 'In an env value',
        isSecondary: true,
        render: ({ name }) => <Code>{`{{ RUNPOD_SECRET_${name} }}`}</Code>,
      },
      {
        title: 'Used by',
        render: ({ usedBy }) => (
          <Group gap={4}>
            {usedBy.length === 0 && (
              <Text size="sm" c="dimmed">
                nothing
              </Text>
            )}
            {usedBy.map(({ kind, id, name }) => (
              <Badge key={kind + id} variant="light" tt="none">
                {kind} {name}
              </Badge>
            ))}
          </Group>
        ),
      },
      { title: 'Changed', isSecondary: true, render: ({ updatedAt }) => formatDate(updatedAt) },
      {
        title: 'Actions',
        width: '150px',
        render: ({ id, name, description, usedBy }) => (
          <Group gap={4} wrap="nowrap">
            <FormButton
              label="Replace"
              title={`Replace the value of ${name}`}
              queryKey="secrets"
              variant="default"
              size="compact-sm"
              submitLabel="Save"
              initial={{ value: '', description: description ?? '' }}
              onSubmit={(values) => {
                const body = {
                  description: orNull(values.description),
                  ...(values.value === '' ? {} : { value: values.value }),
                };
                return unwrap(api.PATCH('/v2/account/secrets/{id}', { params: { path: { id } }, body }));
              }}
            >
              {(form) => (
                <>
                  <PasswordInput
                    label="New value"
                    description="Empty keeps the present one. Containers that run keep theirs until they start again."
                    data-autofocus
                    autoComplete="new-password"
                    {...form.getInputProps('value')}
                  />
                  <Textarea label="Description" autosize {...form.getInputProps('description')} />
                </>
              )}
            </FormButton>
            <DeleteButton
              what="secret"
              name={name}
              queryKey="secrets"
              consequence={
                usedBy.length === 0
                  ? 'Nothing uses it. Its value is gone for good.'
                  : `It is used by ${usedBy.map((use) => `${use.kind} ${use.name}`).join(', ')}: what names it cannot start any more.`
              }
              onConfirm={() => unwrap(api.DELETE('/v2/account/secrets/{id}', { params: { path: { id } } }))}
            />
          </Group>
        ),
      },
    ],
    [],
  );
  return (
    <Page title="Secrets" actions={newSecret}>
      <Loaded query={query}>
        {({ secrets }) =>
          secrets.length === 0 ? (
            <EmptyState icon={IconLock} title="No secrets yet" action={newSecret}>
              A secret is a value for containers that nobody reads back. Write {'{{ RUNPOD_SECRET_name }}'} into a
              variable of an endpoint, a pod or a template; it is filled in when a container starts.
            </EmptyState>
          ) : (
            <RecordList label="secrets" items={secrets} columns={columns} idOf={idOf} textOf={textOf} />
          )
        }
      </Loaded>
    </Page>
  );
}
