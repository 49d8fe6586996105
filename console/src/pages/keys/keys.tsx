import {
  Alert,
  Badge,
  Button,
  Code,
  CopyButton,
  Group,
  Modal,
  Select,
  Stack,
  TagsInput,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { DeleteButton } from '../../ui/delete-button.tsx';
import { FormButton } from '../../ui/form-button.tsx';
import { formatDate } from '../../ui/format.ts';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { type Column, RecordList } from '../../ui/record-list.tsx';
import { RecordName } from '../../ui/record-name.tsx';
import { LIFETIMES, linesOf, NEW_KEY, newKeyBody, REVISIONS, SUGGESTED_SCOPES } from './key-values.ts';

type ApiKey = Schemas['ApiKey'];

const COLUMNS: Column<ApiKey>[] = [
  { title: 'Name', render: ({ name }) => <RecordName>{name}</RecordName> },
  { title: 'Scopes', render: ({ scopes }) => <Scopes scopes={scopes} /> },
  { title: 'Revision', isSecondary: true, render: ({ restRevision }) => restRevision ?? "The server's" },
  { title: 'Created', isSecondary: true, render: ({ createdAt }) => formatDate(createdAt) },
  { title: 'Expires', isSecondary: true, render: ({ expiresAt }) => (expiresAt ? formatDate(expiresAt) : 'Never') },
  {
    title: 'Actions',
    width: '90px',
    render: ({ id, name }) => (
      <DeleteButton
        what="API key"
        name={name}
        queryKey="keys"
        consequence="Requests with this key will be rejected immediately. You can't undo this."
        onConfirm={() => unwrap(api.DELETE('/v2/account/api-keys/{id}', { params: { path: { id } } }))}
      />
    ),
  },
];
const idOf = ({ id }: ApiKey) => id;
const textOf = ({ id, name, scopes }: ApiKey) => `${id} ${name} ${scopes.join(' ')}`;

export function KeysPage() {
  const [secret, setSecret] = useState<string | null>(null);
  const query = useQuery({ queryKey: ['keys'], queryFn: () => unwrap(api.GET('/v2/account/api-keys')) });
  const newKey = <NewKey onCreated={setSecret} />;
  const actions = (
    <Group gap="xs">
      <SshKeys />
      {newKey}
    </Group>
  );
  return (
    <Page title="API keys" actions={actions}>
      <Loaded query={query}>
        {({ apiKeys }) =>
          apiKeys.length === 0 ? (
            <EmptyState icon={IconKey} title="No API keys yet" action={newKey}>
              API keys authenticate your programs. Give each key only the scopes it needs.
            </EmptyState>
          ) : (
            <RecordList label="API keys" items={apiKeys} columns={COLUMNS} idOf={idOf} textOf={textOf} />
          )
        }
      </Loaded>
      <CreatedKey secret={secret} onClose={() => setSecret(null)} />
    </Page>
  );
}

function Scopes({ scopes }: { scopes: readonly string[] }) {
  return (
    <Group gap={4}>
      {scopes.map((scope) => (
        <Badge key={scope} variant="light" tt="none">
          {scope}
        </Badge>
      ))}
    </Group>
  );
}

/** Edits the account's SSH keys, once they are read. */
function SshKeys() {
  const { data } = useQuery({ queryKey: ['ssh-keys'], queryFn: () => unwrap(api.GET('/v2/account/ssh-keys')) });
  if (!data) return null;
  return (
    <FormButton
      label="SSH keys"
      title="SSH keys"
      submitLabel="Save"
      isInRow
      queryKey="ssh-keys"
      initial={{ sshKeys: data.sshKeys.join('\n') }}
      onSubmit={(values) => unwrap(api.PUT('/v2/account/ssh-keys', { body: { sshKeys: linesOf(values.sshKeys) } }))}
    >
      {(form) => (
        <Textarea
          label="Public keys"
          description="One per line, as in a .pub file. Pods get them as PUBLIC_KEY when they start."
          autosize
          minRows={4}
          data-autofocus
          styles={{ input: { fontFamily: 'monospace' } }}
          {...form.getInputProps('sshKeys')}
        />
      )}
    </FormButton>
  );
}

function NewKey({ onCreated }: { onCreated: (secret: string) => void }) {
  return (
    <FormButton
      label="New key"
      title="New API key"
      queryKey="keys"
      initial={NEW_KEY}
      onSubmit={async (values) => {
        const key = await unwrap(api.POST('/v2/account/api-keys', { body: newKeyBody(values, Date.now()) }));
        onCreated(key.secret);
      }}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <TagsInput
            label="Scopes"
            description="For example all, read-only, pods:write, invoke/<endpoint ID> or serverless/<endpoint ID>:read"
            data={SUGGESTED_SCOPES}
            {...form.getInputProps('scopes')}
          />
          <Select label="Expires" data={LIFETIMES} allowDeselect={false} {...form.getInputProps('days')} />
          <Select
            label="API revision"
            description="What /v2 speaks to programs with this key"
            data={REVISIONS}
            allowDeselect={false}
            {...form.getInputProps('revision')}
          />
        </>
      )}
    </FormButton>
  );
}

/** Shows a new key's secret, which the server returns only once. */
function CreatedKey({ secret, onClose }: { secret: string | null; onClose: () => void }) {
  return (
    <Modal opened={secret !== null} onClose={onClose} title="API key created" centered>
      <Stack>
        <Alert color="yellow">Copy the key now. You won't be able to view it again.</Alert>
        <Code block>{secret}</Code>
        <CopyButton value={secret ?? ''}>
          {({ copied, copy }) => <Button onClick={copy}>{copied ? 'Copied' : 'Copy'}</Button>}
        </CopyButton>
      </Stack>
    </Modal>
  );
}
