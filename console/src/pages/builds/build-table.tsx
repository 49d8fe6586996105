import { Button, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo } from 'react';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { endpointsQuery } from '../../api/queries.ts';
import { Loaded } from '../../ui/page.tsx';
import { RecordList } from '../../ui/tables/record-list.tsx';
import type { Column } from '../../ui/tables/record-table.tsx';
import { Elapsed } from '../../ui/text/elapsed-view.tsx';
import { formatNumber, NO_VALUE } from '../../ui/text/format.ts';
import { RecordLink } from '../../ui/text/record-name.tsx';
import { RelativeTime } from '../../ui/text/relative-time-view.tsx';
import { Status } from '../../ui/text/status.tsx';
import { useUrlParams } from '../../ui/use-url-params.ts';
import { BuildRefusal } from './build-notes.tsx';
import { BUILD_STATUSES, type Build, byStatus, hasEnded, lacksScope, sourceOf } from './build-values.ts';

const PAGE_SIZE = 50;
/** Builds change by the second, and new ones come from elsewhere. */
const BUSY_MS = 2_000;
const QUIET_MS = 5_000;
/** Shorter lists need no filter. */
const FILTER_FROM = 4;

const idOf = ({ id }: Build) => id;
const linkOf = ({ id }: Build) => `/builds/${id}`;

/** Builds, newest first, page by page: all of the account, or those whose image an endpoint took. */
export function BuildTable(props: {
  endpointId?: string;
  /** In place of an empty list. */
  empty: ReactNode;
  /** Above one that is not. */
  above?: ReactNode;
}) {
  const { endpointId, empty, above } = props;
  const query = useBuilds(endpointId);
  if (query.data === undefined && lacksScope(query.error)) return <BuildRefusal />;
  return (
    <Loaded query={query}>
      {({ pages }) => {
        const builds = pages.flatMap((page) => page.builds);
        if (builds.length === 0) return empty;
        return (
          <Stack gap="sm">
            {above}
            <FilteredBuilds builds={builds} isOfEndpoint={endpointId !== undefined} />
            {query.hasNextPage && (
              <Group justify="center">
                <Button variant="default" onClick={() => void query.fetchNextPage()} loading={query.isFetchingNextPage}>
                  Show more
                </Button>
              </Group>
            )}
          </Stack>
        );
      }}
    </Loaded>
  );
}

/** The first page is read again and again; once there are more, they stay as they were. */
function useBuilds(endpointId: string | undefined) {
  return useInfiniteQuery({
    queryKey: ['builds', 'pages', endpointId ?? ''],
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Schemas['BuildPage']) => page.nextCursor ?? undefined,
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? [];
      if (pages.length !== 1) return false;
      return pages[0]!.builds.every(hasEnded) ? QUIET_MS : BUSY_MS;
    },
    queryFn: ({ pageParam }: { pageParam: string | undefined }) => {
      const query = {
        limit: PAGE_SIZE,
        ...(endpointId === undefined ? {} : { endpointId }),
        ...(pageParam === undefined ? {} : { cursor: pageParam }),
      };
      return unwrap(api.GET('/v2/builds', { params: { query } }));
    },
  });
}

function FilteredBuilds({ builds, isOfEndpoint }: { builds: readonly Build[]; isOfEndpoint: boolean }) {
  const [params, set] = useUrlParams();
  const chosen = params.get('status') ?? '';
  const { found, counts } = useMemo(() => byStatus(builds, chosen), [builds, chosen]);
  const names = useEndpointNames(builds);
  const columns = useMemo(() => columnsFor(names, isOfEndpoint), [names, isOfEndpoint]);
  const textOf = ({ id, name, endpointId }: Build) => `${id} ${name} ${names.get(endpointId ?? '') ?? ''}`;
  const choose = (status: string) => set('status', status === chosen ? '' : status);
  return (
    <>
      {(builds.length >= FILTER_FROM || chosen !== '') && (
        <Group gap={6} role="group" aria-label="Status">
          {counts.map(({ status, count }) => (
            <UnstyledButton
              key={status}
              className="filter-button"
              aria-pressed={status === chosen}
              onClick={() => choose(status)}
            >
              <Status table={BUILD_STATUSES} value={status} />
              <span className="figure">{formatNumber(count)}</span>
            </UnstyledButton>
          ))}
        </Group>
      )}
      {found.length === 0 ? (
        <Text c="dimmed" p="md" ta="center">
          No build matches.{' '}
          <Button variant="subtle" size="compact-sm" onClick={() => choose(chosen)}>
            Show all
          </Button>
        </Text>
      ) : (
        <RecordList
          label="builds"
          items={found}
          columns={columns}
          idOf={idOf}
          linkOf={linkOf}
          textOf={textOf}
          aboveRem={isOfEndpoint ? 22 : 17}
        />
      )}
    </>
  );
}

/** Names of endpoints by id; empty for a key that may not read them. Reads them again when a build has one that is not known. */
function useEndpointNames(builds: readonly Build[]): ReadonlyMap<string, string> {
  const { data, refetch } = useQuery(endpointsQuery);
  const names = useMemo(() => new Map(data?.endpoints.map(({ id, name }) => [id, name])), [data]);
  const unknown =
    data === undefined ? [] : builds.map(({ endpointId }) => endpointId).filter((id) => id && !names.has(id));
  const missing = [...new Set(unknown)].join();
  useEffect(() => {
    if (missing !== '') void refetch();
  }, [missing, refetch]);
  return names;
}

function columnsFor(names: ReadonlyMap<string, string>, isOfEndpoint: boolean): Column<Build>[] {
  const endpoint: Column<Build> = {
    title: 'Endpoint',
    isSecondary: true,
    render: ({ endpointId: id }) => {
      if (id === null) return NO_VALUE;
      const name = names.get(id);
      return name === undefined ? id : <RecordLink to={`/endpoints/${id}`} name={name} />;
    },
  };
  return [
    { title: 'Name', render: (build) => <RecordLink to={linkOf(build)} name={build.name} /> },
    { title: 'Status', render: ({ status }) => <Status table={BUILD_STATUSES} value={status} /> },
    ...(isOfEndpoint ? [] : [endpoint]),
    { title: 'Source', isSecondary: true, render: (build) => <Text size="sm">{sourceOf(build)}</Text> },
    {
      title: 'Duration',
      isSecondary: true,
      isNumber: true,
      render: ({ startedAt, endedAt }) => (startedAt === null ? NO_VALUE : <Elapsed from={startedAt} to={endedAt} />),
    },
    { title: 'Created', render: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  ];
}
