import { Button, Group, Modal, Select, Stack, Switch, Table, Text, TextInput, UnstyledButton } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { accountQuery } from '../../api/queries.ts';
import { EmptyState, Loaded, Page } from '../../ui/page.tsx';
import { type Column, RecordTable } from '../../ui/tables/record-table.tsx';
import { NO_VALUE } from '../../ui/text/format.ts';
import { Truncated } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { visibleText } from '../../ui/text/visible-text.ts';
import { useUrlParams } from '../../ui/use-url-params.ts';
import {
  type AuditEntry,
  type AuditFilters,
  actorText,
  auditQuery,
  changeTexts,
  OUTCOMES,
  operationText,
  originText,
  PERIODS,
  recordText,
} from './audit-values.ts';

const PAGE_SIZE = 50;
const NO_FILTERS: AuditFilters = { operation: '', recordId: '', actorId: '', outcome: '', days: '', own: '' };

/** The changes and their authors: for admins of everything, for others of their own records. */
export function AuditPage() {
  const isAdmin = useQuery(accountQuery).data?.role === 'ADMIN';
  const [filters, setFilter] = useFilters();
  const [shown, setShown] = useState<AuditEntry | null>(null);
  const columns = useMemo(() => columnsFor(setShown), []);
  const query = useEntries(filters, isAdmin);
  return (
    <Page
      title="Audit log"
      description="Who changed what, and what was refused. Nothing here can be changed or deleted."
    >
      <Stack gap="sm">
        <Filters filters={filters} onChange={setFilter} isAdmin={isAdmin} />
        <Loaded query={query}>
          {({ pages }) => {
            const entries = pages.flatMap((page) => page.entries);
            if (entries.length === 0) {
              return (
                <EmptyState icon={IconHistory} title="No entries">
                  No entry matches these filters.
                </EmptyState>
              );
            }
            return (
              <>
                <RecordTable
                  label="audit log"
                  items={entries}
                  columns={columns}
                  idOf={idOf}
                  aboveRem={17}
                  isFixed
                  hasBlocks
                />
                {query.hasNextPage && (
                  <Group justify="center">
                    <Button
                      variant="default"
                      onClick={() => void query.fetchNextPage()}
                      loading={query.isFetchingNextPage}
                    >
                      Show more
                    </Button>
                  </Group>
                )}
              </>
            );
          }}
        </Loaded>
      </Stack>
      <Details entry={shown} onFilter={setFilter} onClose={() => setShown(null)} />
    </Page>
  );
}

const idOf = ({ seq }: AuditEntry) => String(seq);

function columnsFor(show: (entry: AuditEntry) => void): Column<AuditEntry>[] {
  return [
    { title: 'When', width: '104px', render: ({ at }) => <RelativeTime at={at} /> },
    { title: 'Who', width: '14%', render: (entry) => <Truncated text={actorText(entry)} maw="100%" /> },
    { title: 'What', width: '18%', render: ({ operation }) => operationText(operation) },
    {
      title: 'Record',
      width: '18%',
      render: (entry) => <Truncated text={recordText(entry)} maw="100%" />,
    },
    {
      title: 'Outcome',
      width: '110px',
      isSecondary: true,
      render: ({ outcome }) => <Status table={OUTCOMES} value={outcome} />,
    },
    {
      title: 'Details',
      render: (entry) => {
        const text = visibleText(entry.reason ?? changeTexts(entry)[0] ?? 'Show');
        return (
          <UnstyledButton
            className="truncated cell-button"
            aria-label={`Details of entry ${entry.seq}: ${text}`}
            onClick={() => show(entry)}
          >
            {text}
          </UnstyledButton>
        );
      },
    },
  ];
}

function useEntries(filters: AuditFilters, isAdmin: boolean) {
  return useInfiniteQuery({
    queryKey: ['audit', filters, isAdmin],
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Schemas['AuditList']) => page.nextCursor ?? undefined,
    queryFn: ({ pageParam }: { pageParam: string | undefined }) => {
      const query = { ...auditQuery(filters, isAdmin, Date.now()), limit: PAGE_SIZE };
      return unwrap(
        api.GET('/v2/audit', { params: { query: pageParam === undefined ? query : { ...query, cursor: pageParam } } }),
      );
    },
  });
}

/** The filters are in the URL: a link to the page leads to the same entries. */
function useFilters(): [AuditFilters, (name: keyof AuditFilters, value: string) => void] {
  const [params, set] = useUrlParams();
  const names = Object.keys(NO_FILTERS) as (keyof AuditFilters)[];
  const filters = Object.fromEntries(names.map((name) => [name, params.get(name) ?? ''])) as unknown as AuditFilters;
  return [filters, set];
}

function Filters(props: {
  filters: AuditFilters;
  onChange: (name: keyof AuditFilters, value: string) => void;
  isAdmin: boolean;
}) {
  const { filters, onChange, isAdmin } = props;
  const outcomes = Object.entries(OUTCOMES).map(([value, { label }]) => ({ value, label }));
  return (
    <Group gap="xs" align="flex-end" className="filters">
      <TextInput
        label="Operation"
        placeholder="endpoint.update"
        value={filters.operation}
        onChange={(event) => onChange('operation', event.currentTarget.value)}
      />
      <TextInput
        label="Record id"
        value={filters.recordId}
        onChange={(event) => onChange('recordId', event.currentTarget.value)}
      />
      <TextInput
        label="User id"
        value={filters.actorId}
        onChange={(event) => onChange('actorId', event.currentTarget.value)}
      />
      <Select
        label="Outcome"
        placeholder="Any"
        clearable
        data={outcomes}
        value={filters.outcome || null}
        onChange={(value) => onChange('outcome', value ?? '')}
      />
      <Select
        label="Time"
        placeholder="Any"
        clearable
        data={PERIODS}
        value={filters.days || null}
        onChange={(value) => onChange('days', value ?? '')}
      />
      {isAdmin && (
        <Switch
          label="Only my records"
          checked={filters.own !== ''}
          onChange={(event) => onChange('own', event.currentTarget.checked ? 'yes' : '')}
          mb={8}
        />
      )}
    </Group>
  );
}

interface DetailsProps {
  entry: AuditEntry | null;
  onFilter: (name: keyof AuditFilters, value: string) => void;
  onClose: () => void;
}

function Details({ entry, onFilter, onClose }: DetailsProps) {
  const narrow = (name: 'actorId' | 'recordId', value: string) => {
    onFilter(name, value);
    onClose();
  };
  return (
    <Modal opened={entry !== null} onClose={onClose} title={entry && operationText(entry.operation)} size="lg">
      {entry && (
        <Table>
          <Table.Tbody>
            {detailsOf(entry).map(([name, value]) => (
              <Table.Tr key={name}>
                <Table.Th scope="row" w={140}>
                  {name}
                </Table.Th>
                <Table.Td style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-line' }}>
                  <Text size="sm">{visibleText(value)}</Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
      <Group gap="sm" mt="md">
        {entry?.actorId && (
          <Button variant="default" size="xs" onClick={() => narrow('actorId', entry.actorId!)}>
            All by {visibleText(entry.actorName ?? entry.actorId)}
          </Button>
        )}
        {entry?.recordId && (
          <Button variant="default" size="xs" onClick={() => narrow('recordId', entry.recordId!)}>
            All of this record
          </Button>
        )}
      </Group>
    </Modal>
  );
}

function detailsOf(entry: AuditEntry): [name: string, value: string][] {
  const { recordName, recordId, ownerName, ownerId, reason, repeats, requestId, at } = entry;
  return [
    ['Time', at],
    ['Who', actorText(entry)],
    ['From', originText(entry)],
    ['Record', [recordName, recordId].filter(Boolean).join(', ') || NO_VALUE],
    ['Owner', ownerName ?? ownerId ?? 'The installation'],
    ['Changes', changeTexts(entry).join('\n') || NO_VALUE],
    ['Outcome', `${OUTCOMES[entry.outcome].label}${repeats > 1 ? `, ${repeats} times` : ''}`],
    ['Reason', reason ?? NO_VALUE],
    ['Request', requestId ?? NO_VALUE],
  ];
}
