import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { DeleteButton } from '../../ui/confirm-delete.tsx';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { NO_VALUE } from '../../ui/text/format.ts';
import { RecordName, Truncated } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { type ApiKey, makerText, warningsOf } from './key-values.ts';

interface KeyListProps {
  keys: readonly ApiKey[];
  queryKey: string;
  revoke: (id: string) => Promise<unknown>;
  /** More actions on a key. */
  changes?: (key: ApiKey) => ReactNode;
}

/** Keys with their last use, their maker, and what to look at. */
export function KeyList({ keys, queryKey, revoke, changes }: KeyListProps) {
  const columns: Column<ApiKey>[] = [
    { title: 'Name', render: (key) => <Name apiKey={key} /> },
    { title: 'Scopes', render: ({ scopes }) => <Scopes scopes={scopes} /> },
    {
      title: 'Last used',
      isSecondary: true,
      render: ({ lastUsedAt }) => (lastUsedAt ? <RelativeTime at={lastUsedAt} /> : 'Never'),
    },
    { title: 'Made by', isSecondary: true, render: (key) => <Maker apiKey={key} /> },
    { title: 'Revision', isSecondary: true, render: ({ restRevision }) => restRevision ?? "The server's" },
    { title: 'Created', isSecondary: true, render: ({ createdAt }) => <RelativeTime at={createdAt} /> },
    {
      title: 'Expires',
      isSecondary: true,
      render: ({ expiresAt }) => (expiresAt ? <RelativeTime at={expiresAt} /> : 'Never'),
    },
    {
      title: 'Actions',
      width: changes ? '230px' : '90px',
      render: (key) => (
        <Group gap={4} wrap="nowrap">
          {changes?.(key)}
          <DeleteButton
            what="API key"
            name={key.name}
            queryKey={queryKey}
            consequence="Requests with this key will be rejected immediately. You can't undo this."
            onConfirm={() => revoke(key.id)}
          />
        </Group>
      ),
    },
  ];
  return <RecordList label="API keys" items={keys} columns={columns} idOf={idOf} textOf={textOf} rowHeight={56} />;
}

const idOf = ({ id }: ApiKey) => id;
const textOf = ({ id, name, scopes }: ApiKey) => `${id} ${name} ${scopes.join(' ')}`;

function Name({ apiKey }: { apiKey: Schemas['ApiKey'] }) {
  const warnings = warningsOf(apiKey, Date.now());
  return (
    <>
      <RecordName>{apiKey.name}</RecordName>
      {warnings.length > 0 && (
        <Text size="xs" className="key-warning">
          {warnings.join(' · ')}
        </Text>
      )}
    </>
  );
}

function Maker({ apiKey }: { apiKey: ApiKey }) {
  const text = makerText(apiKey);
  return text === null ? NO_VALUE : <Truncated text={text} maw={220} />;
}

function Scopes({ scopes }: { scopes: readonly string[] }) {
  return (
    <Group gap={4}>
      {scopes.map((scope) => (
        <Badge key={scope} variant="light" tt="none" title={scope}>
          {scope}
        </Badge>
      ))}
    </Group>
  );
}
