import { Button, Code, Stack, Text } from '@mantine/core';
import { IconServerBolt } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { useSearchParams } from 'react-router';
import { api, unwrap } from '../../../api/client.ts';
import { useLive } from '../../../api/events.ts';
import type { AccountSnapshot } from '../../../api/live-snapshots.ts';
import { endpointsQuery, firstEndpointsQuery } from '../../../api/queries.ts';
import { EmptyState, Loaded, Page } from '../../../ui/page.tsx';
import { NewLink } from '../../../ui/tables/record-page.tsx';
import { RecordTable } from '../../../ui/tables/record-table.tsx';
import type { Endpoint } from '../settings/endpoint-values.ts';
import { ENDPOINT_COLUMNS, linkOf } from './endpoint-columns.tsx';
import { EndpointFilters, useEndpointFilter } from './endpoint-filters.tsx';
import {
  type EndpointFigures,
  type EndpointRow,
  filterRows,
  type KnownFigures,
  MAX_ACTIVE,
  missingIds,
  nextSort,
  sortRows,
  toRows,
} from './endpoint-rows.ts';

const ROW_HEIGHT = 54;
/** Shorter lists need neither search nor filters. */
const FILTERS_FROM = 4;

const idOf = ({ endpoint }: EndpointRow) => endpoint.id;

export function EndpointsPage() {
  const { snapshot } = useLive<AccountSnapshot>('/v2/account/live');
  const whole = useEndpoints(snapshot?.endpoints);
  const first = useQuery(firstEndpointsQuery);
  const [params] = useSearchParams();
  // Until all are there, the first of the order without a filter stay where they are.
  const isPartial = whole.data === undefined && first.data !== undefined && params.size === 0;
  const query = isPartial ? first : whole;
  return (
    <Page title="Endpoints" actions={<NewLink to="/endpoints/new">New endpoint</NewLink>}>
      <Loaded query={query}>
        {({ endpoints }) =>
          endpoints.length === 0 ? (
            <EmptyState
              icon={IconServerBolt}
              title="No endpoints yet"
              action={<NewLink to="/endpoints/new">New endpoint</NewLink>}
            >
              An endpoint runs your image and scales its workers with demand, down to zero. To try one, use the image{' '}
              <Code>podyard/echo-js:dev</Code>.
            </EmptyState>
          ) : (
            <EndpointTable endpoints={endpoints} isPartial={isPartial} live={snapshot} />
          )
        }
      </Loaded>
    </Page>
  );
}

/** Reads the endpoints again when the live count differs from the list. */
function useEndpoints(liveCount: number | undefined) {
  const query = useQuery(endpointsQuery);
  const { refetch } = query;
  const listed = query.data?.endpoints.length;
  useEffect(() => {
    if (liveCount !== undefined && listed !== undefined && liveCount !== listed) void refetch();
  }, [liveCount, listed, refetch]);
  return query;
}

function EndpointTable(props: {
  endpoints: readonly Endpoint[];
  isPartial: boolean;
  live: AccountSnapshot | undefined;
}) {
  const { endpoints, isPartial, live } = props;
  const narrowing = useEndpointFilter();
  const { filter, sort } = narrowing;
  const [visibleIds, setVisibleIds] = useState<readonly string[]>([]);
  const known = useEndpointFigures(live, visibleIds);
  const rows = useMemo(() => toRows(endpoints, known), [endpoints, known]);
  const { search, state, kind, image } = filter;
  const found = useMemo(() => filterRows(rows, { search, state, kind, image }), [rows, search, state, kind, image]);
  const { key, isDescending } = sort;
  const sorted = useMemo(() => sortRows(found, { key, isDescending }), [found, key, isDescending]);
  const onVisible = useCallback((items: readonly EndpointRow[]) => {
    const ids = items.map(idOf);
    setVisibleIds((before) => (before.join() === ids.join() ? before : ids));
  }, []);
  return (
    <Stack gap="sm" className="record-list">
      {endpoints.length >= FILTERS_FROM && (
        <EndpointFilters rows={rows} foundCount={isPartial ? null : found.length} narrowing={narrowing} />
      )}
      <RecordTable
        label="endpoints"
        items={sorted}
        columns={ENDPOINT_COLUMNS}
        idOf={idOf}
        linkOf={linkOf}
        sort={sort}
        onSort={(column) => narrowing.setSort(nextSort(sort, column))}
        onVisible={onVisible}
        rowHeight={ROW_HEIGHT}
        isFixed
        aboveRem={17}
      />
      {found.length === 0 && (
        <Text c="dimmed" p="md" ta="center">
          No endpoint matches.{' '}
          <Button variant="subtle" size="compact-sm" onClick={narrowing.reset}>
            Show all
          </Button>
        </Text>
      )}
    </Stack>
  );
}

/** Rows that scroll by are not asked for. */
const SETTLE_MS = 120;

type Kept = ReadonlyMap<string, { version: string; figures: EndpointFigures | undefined }>;

/**
 * Returns the figures of all endpoints that are not at rest, and of those on the screen with their course. Both are read again
 * when the stream says that a minute was written, and a row also when its endpoint begins or ends to work.
 */
function useEndpointFigures(live: AccountSnapshot | undefined, visibleIds: readonly string[]): KnownFigures {
  const minute = live?.historyUntil ?? '';
  const all = useQuery({
    queryKey: ['endpoint-figures', minute],
    queryFn: () => unwrap(api.GET('/v2/serverless/figures')),
    placeholderData: (before) => before,
    gcTime: 0,
  });
  const allById = useMemo(
    () => all.data && new Map(all.data.figures.map((figures) => [figures.id, figures])),
    [all.data],
  );
  const shown = useShownFigures(visibleIds, live);
  return useMemo(() => ({ all: allById, shown, live }), [allById, shown, live]);
}

function useShownFigures(
  visibleIds: readonly string[],
  live: AccountSnapshot | undefined,
): ReadonlyMap<string, EndpointFigures> {
  const [kept, setKept] = useState<Kept>(new Map());
  const active = new Set(live?.active.length === MAX_ACTIVE ? [] : live?.active.map(({ id }) => id));
  const versionOf = (id: string) => `${live?.historyUntil}/${active.has(id)}`;
  const versions = new Map([...kept].map(([id, { version }]) => [id, version]));
  const missing = live === undefined ? '' : missingIds(visibleIds, versions, versionOf).join();

  // biome-ignore lint/correctness/useExhaustiveDependencies: `versionOf` changes with every event; what is missing is what counts
  useEffect(() => {
    if (missing === '') return;
    const ids = missing.split(',');
    const asked = new Map(ids.map((id) => [id, versionOf(id)]));
    const timer = setTimeout(async () => {
      const answer = await unwrap(api.GET('/v2/serverless/figures', { params: { query: { ids: missing } } })).catch(
        () => null, // the next minute asks again
      );
      if (answer === null) return;
      const read = new Map(answer.figures.map((figures) => [figures.id, figures]));
      setKept((known) => {
        const next = new Map(known);
        for (const [id, version] of asked) next.set(id, { version, figures: read.get(id) });
        return next;
      });
    }, SETTLE_MS);
    return () => clearTimeout(timer);
  }, [missing]);

  return useMemo(() => new Map([...kept].flatMap(([id, { figures }]) => (figures ? [[id, figures]] : []))), [kept]);
}
