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
  Text,
  TextInput,
} from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, type Schemas, unwrap } from '../api/client.ts';
import { formatDate } from '../ui/format.ts';
import { EmptyState, Loaded, Page } from '../ui/page.tsx';
import { type Column, RecordList } from '../ui/record-list.tsx';
import { DeleteButton, FormButton } from '../ui/record-page.tsx';

type ApiKey = Schemas['ApiKey'];

const AREAS = ['serverless', 'pods', 'templates', 'network-volumes', 'registries', 'catalog', 'billing', 'account'];
const PROPOSALS = ['all', 'read-only', 'invoke', ...AREAS.flatMap((area) => [`${area}:read`, `${area}:write`])];
const LIFETIMES = [
  { value: '', label: 'Never' },
  { value: '1', label: 'In a day' },
  { value: '30', label: 'In 30 days' },
  { value: '365', label: 'In a year' },
];
const DAY_MS = 86_400_000;
const idOf = ({ id }: ApiKey) => id;
const textOf = ({ id, name, scopes }: ApiKey) => `${id} ${name} ${scopes.join(' ')}`;

export function KeysPage() {
  const [secret, setSecret] = useState<string | null>(null);
  const query = useQuery({ queryKey: ['keys'], queryFn: () => unwrap(api.GET('/v2/account/api-keys')) });
  const newKey = (
    <FormButton
      label="New key"
      title="New API key"
      queryKey="keys"
      initial={{ name: '', scopes: ['all'], days: '' }}
      onSubmit={async ({ name, scopes, days }) => {
        const expiresAt = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString();
        const key = await unwrap(api.POST('/v2/account/api-keys', { body: { name, scopes, expiresAt } }));
        setSecret(key.secret);
      }}
    >
      {(form) => (
        <>
          <TextInput label="Name" required data-autofocus {...form.getInputProps('name')} />
          <TagsInput
            label="May do"
            description="all, read-only, invoke, an area, or one record: invoke/<endpoint id>, serverless/<id>:read"
            data={PROPOSALS}
            {...form.getInputProps('scopes')}
          />
          <Select label="Expires" data={LIFETIMES} allowDeselect={false} {...form.getInputProps('days')} />
        </>
      )}
    </FormButton>
  );
  const columns = useMemo<Column<ApiKey>[]>(
    () => [
      { title: 'Name', render: ({ name }) => <Text fw={550}>{name}</Text> },
      {
        title: 'May do',
        render: ({ scopes }) => (
          <Group gap={4}>
            {scopes.map((scope) => (
              <Badge key={scope} variant="light" tt="none">
                {scope}
              </Badge>
            ))}
          </Group>
        ),
      },
      { title: 'Created', isSecondary: true, render: ({ createdAt }) => formatDate(createdAt) },
      { title: 'Expires', isSecondary: true, render: ({ expiresAt }) => (expiresAt ? formatDate(expiresAt) : 'never') },
      {
        title: 'Actions',
        width: '90px',
        render: ({ id, name }) => (
          <DeleteButton
            what="key"
            name={name}
            queryKey="keys"
            consequence="Whoever uses it is refused from now on. This cannot be undone."
            onConfirm={() => unwrap(api.DELETE('/v2/account/api-keys/{id}', { params: { path: { id } } }))}
          />
        ),
      },
    ],
    [],
  );
  return (
    <Page title="API keys" actions={newKey}>
      <Loaded query={query}>
        {({ apiKeys }) =>
          apiKeys.length === 0 ? (
            <EmptyState icon={IconKey} title="No keys" action={newKey}>
              Keys let programs in. Give each one no more than it needs.
            </EmptyState>
          ) : (
            <RecordList label="API keys" items={apiKeys} columns={columns} idOf={idOf} textOf={textOf} />
          )
        }
      </Loaded>
      <Modal opened={secret !== null} onClose={() => setSecret(null)} title="Your new key" centered>
        <Stack>
          <Alert color="yellow">It is shown now and never again: copy it to where it is needed.</Alert>
          <Code block>{secret}</Code>
          <CopyButton value={secret ?? ''}>
            {({ copied, copy }) => <Button onClick={copy}>{copied ? 'Copied' : 'Copy'}</Button>}
          </CopyButton>
        </Stack>
      </Modal>
    </Page>
  );
}
