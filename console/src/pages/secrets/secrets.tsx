import { Badge, Code, Group, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { IconLock } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { DeleteButton } from '../../ui/confirm-delete.tsx';
import { FormButton } from '../../ui/forms/form-button.tsx';
import { type Column, RecordPage } from '../../ui/tables/record-page.tsx';
import { NO_VALUE } from '../../ui/text/format.ts';
import { Name, RecordName } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import {
  deletionConsequence,
  newSecretBody,
  secretChanges,
  secretReference,
  secretUpdateBody,
  usageLabel,
} from './secret-values.ts';

type Secret = Schemas['Secret'];

const COLUMNS: Column<Secret>[] = [
  {
    title: 'Name',
    render: ({ name, description }) => <RecordName title={description ?? ''}>{name}</RecordName>,
  },
  {
    title: 'Reference',
    render: ({ name }) => (
      <Code className="record-name" title={secretReference(name)}>
        {secretReference(name)}
      </Code>
    ),
  },
  { title: 'Used by', render: ({ usedBy }) => <Usage usedBy={usedBy} /> },
  { title: 'Updated', isWide: true, render: ({ updatedAt }) => <RelativeTime at={updatedAt} /> },
  { title: 'Actions', width: '130px', render: (secret) => <Actions secret={secret} /> },
];
const idOf = ({ id }: Secret) => id;
const textOf = ({ name, description }: Secret) => `${name} ${description ?? ''}`;

export function SecretsPage() {
  const query = useQuery({ queryKey: ['secrets'], queryFn: () => unwrap(api.GET('/v2/account/secrets')) });
  return (
    <RecordPage
      title="Secrets"
      action={<NewSecret />}
      query={{ ...query, data: query.data?.secrets }}
      empty={{
        icon: IconLock,
        title: 'No secrets yet',
        text: (
          <>
            Store tokens and passwords that can't be read back. Reference one as{' '}
            <Code className="nowrap">{secretReference('name')}</Code> in an environment variable, and its value is
            inserted when the container starts.
          </>
        ),
      }}
      label="secrets"
      columns={COLUMNS}
      idOf={idOf}
      textOf={textOf}
    />
  );
}

function Usage({ usedBy }: Pick<Secret, 'usedBy'>) {
  if (usedBy.length === 0) return NO_VALUE;
  return (
    <Group gap={4}>
      {usedBy.map((use) => (
        <Badge key={use.kind + use.id} variant="light" tt="none">
          <Name>{usageLabel(use)}</Name>
        </Badge>
      ))}
    </Group>
  );
}

function Actions({ secret }: { secret: Secret }) {
  const { id, name, usedBy } = secret;
  return (
    <Group gap={4} wrap="nowrap">
      <EditSecret secret={secret} />
      <DeleteButton
        what="secret"
        name={name}
        queryKey="secrets"
        consequence={deletionConsequence(usedBy)}
        onConfirm={() => unwrap(api.DELETE('/v2/account/secrets/{id}', { params: { path: { id } } }))}
      />
    </Group>
  );
}

function NewSecret() {
  return (
    <FormButton
      label="New secret"
      title="New secret"
      queryKey="secrets"
      summary={({ name }) => ({
        facts: [
          { label: 'Reference', value: secretReference(name || 'name') },
          { label: 'Used', value: 'as the value of an environment variable' },
          { label: 'Shown', value: 'never again' },
        ],
      })}
      initial={{ name: '', value: '', description: '' }}
      onSubmit={(values) => unwrap(api.POST('/v2/account/secrets', { body: newSecretBody(values) }))}
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
            description="Stored encrypted. You won't be able to view it again."
            required
            autoComplete="new-password"
            {...form.getInputProps('value')}
          />
          <Textarea label="Description" autosize {...form.getInputProps('description')} />
        </>
      )}
    </FormButton>
  );
}

function EditSecret({ secret: { id, name, description, usedBy } }: { secret: Secret }) {
  return (
    <FormButton
      label="Edit"
      title={`Edit ${name}`}
      queryKey="secrets"
      isInRow
      recordId={id}
      summary={(values) => ({
        facts: [{ label: 'Used by', value: usedBy.map(usageLabel).join(', ') || 'nothing' }],
        changes: secretChanges({ description: description ?? '' }, values),
        effect: values.value === '' ? '' : 'Running containers keep the old value until they restart.',
      })}
      submitLabel="Save"
      initial={{ value: '', description: description ?? '' }}
      onSubmit={(values) =>
        unwrap(api.PATCH('/v2/account/secrets/{id}', { params: { path: { id } }, body: secretUpdateBody(values) }))
      }
    >
      {(form) => (
        <>
          <PasswordInput
            label="New value"
            description="Leave empty to keep the current value"
            data-autofocus
            autoComplete="new-password"
            {...form.getInputProps('value')}
          />
          <Textarea label="Description" autosize {...form.getInputProps('description')} />
        </>
      )}
    </FormButton>
  );
}
