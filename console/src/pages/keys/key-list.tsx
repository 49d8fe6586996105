import { Badge, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { DeleteButton } from '../../ui/confirm-delete.tsx';
import { Hint } from '../../ui/hint.tsx';
import { type Column, RecordList } from '../../ui/tables/record-list.tsx';
import { RecordName, Truncated } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { type ApiKey, KEY_STATES, keyState, makerText, warningsOf } from './key-values.ts';

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
    {
      title: 'Name',
      sortKey: 'name',
      sortValue: ({ name }) => name,
      render: ({ name }) => <RecordName>{name}</RecordName>,
    },
    {
      title: 'State',
      sortKey: 'state',
      sortValue: (key) => STATE_ORDER.indexOf(stateOf(key)),
      render: (key) => <StateCell apiKey={key} />,
    },
    { title: 'Scopes', render: ({ scopes }) => <Scopes scopes={scopes} /> },
    {
      title: 'Last used',
      sortKey: 'used',
      sortValue: ({ lastUsedAt }) => timeOf(lastUsedAt),
      render: ({ lastUsedAt }) => (lastUsedAt ? <RelativeTime at={lastUsedAt} /> : 'Never'),
    },
    {
      title: 'Expires',
      sortKey: 'expires',
      sortValue: ({ expiresAt }) => timeOf(expiresAt),
      render: ({ expiresAt }) => (expiresAt ? <RelativeTime at={expiresAt} /> : 'Never'),
    },
    {
      title: 'Created',
      isWide: true,
      sortKey: 'made',
      sortValue: ({ createdAt }) => timeOf(createdAt),
      render: (key) => <Made apiKey={key} />,
    },
    { title: 'Revision', isWide: true, render: ({ restRevision }) => restRevision ?? "The server's" },
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
            consequence="Requests with this key are refused at once. You can't undo this."
            onConfirm={() => revoke(key.id)}
          />
        </Group>
      ),
    },
  ];
  return (
    <RecordList
      label="API keys"
      items={keys}
      columns={columns}
      idOf={idOf}
      textOf={textOf}
      states={STATES}
      defaultSort="state"
      rowHeight={56}
    />
  );
}

const stateOf = (key: ApiKey) => keyState(key, Date.now());
const timeOf = (time: string | null) => (time === null ? null : Date.parse(time));
const STATE_ORDER = Object.keys(KEY_STATES);
const STATES = { table: KEY_STATES, of: stateOf };
const idOf = ({ id }: ApiKey) => id;
const textOf = ({ id, name, scopes }: ApiKey) => `${id} ${name} ${scopes.join(' ')}`;

function StateCell({ apiKey }: { apiKey: ApiKey }) {
  const warnings = warningsOf(apiKey, Date.now());
  return (
    <div>
      <Status table={KEY_STATES} value={stateOf(apiKey)} />
      {warnings.length > 0 && (
        <Text size="xs" className="key-warning nowrap">
          {warnings.join(' · ')}
        </Text>
      )}
    </div>
  );
}

function Made({ apiKey }: { apiKey: ApiKey }) {
  const maker = makerText(apiKey);
  return (
    <div>
      <RelativeTime at={apiKey.createdAt} />
      {maker !== null && (
        <Hint size="xs">
          <Truncated text={maker} maw={200} />
        </Hint>
      )}
    </div>
  );
}

function Scopes({ scopes }: { scopes: readonly string[] }) {
  return (
    <Group gap={4} className="scopes">
      {scopes.map((scope) => (
        <Badge key={scope} variant="light" tt="none" title={scope}>
          {scope}
        </Badge>
      ))}
    </Group>
  );
}
