import { Anchor, Button, Group, Modal, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDisclosure } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'react-router';
import { parseJobError } from '../../../../../src/core/text/job-error.ts';
import { shortId } from '../../../../../src/core/text/short-id.ts';
import { api, request, type Schemas, unwrap } from '../../../api/client.ts';
import { ErrorAlert } from '../../../ui/error-alert.tsx';
import { notifySuccess } from '../../../ui/notify.ts';
import { EmptyNote, Loaded } from '../../../ui/page.tsx';
import { SmallTable } from '../../../ui/tables/small-table.tsx';
import { formatCount, formatDuration, NO_VALUE } from '../../../ui/text/format.ts';
import { Name, Truncated } from '../../../ui/text/record-name.tsx';
import { RelativeTime } from '../../../ui/text/relative-time-view.tsx';
import { Status } from '../../../ui/text/status.tsx';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';
import { JobDrawer } from './job-drawer.tsx';
import {
  filterQuery,
  hasFilter,
  type JobFilter,
  MAX_ERROR_LENGTH,
  readFilter,
  UNSUCCESSFUL,
  writeFilter,
} from './job-filter.ts';
import { isFinal, JOB_STATUSES } from './job-status.ts';

type Job = Schemas['JobList']['requests'][number];

const STATES = [
  ...Object.entries(JOB_STATUSES).map(([value, { label }]) => ({ value, label })),
  { value: UNSUCCESSFUL, label: 'Any unsuccessful' },
];
const PERIODS = [
  { value: '', label: 'Any time' },
  { value: '300', label: 'Last 5 minutes' },
  { value: '3600', label: 'Last hour' },
  { value: '86400', label: 'Last 24 hours' },
  { value: 'custom', label: 'From … until …' },
];
const PAGE_SIZE = 50;
const TYPING_MS = 300;
const POLL_MS = 3_000;

/** Jobs of every state, newest first, page by page. Filters and the open job are in the URL. */
export function Jobs({ endpoint }: EndpointTabProps) {
  const [search, setSearch] = useSearchParams();
  const filter = readFilter(search);
  const query = useJobs(endpoint.id, filter);
  const open = (job: string | null) =>
    setSearch((now) => writeJob(now, job), { replace: search.get('job') !== null && job !== null });
  return (
    <Stack>
      <Filters
        filter={filter}
        onChange={(change) => setSearch((now) => writeFilter(now, change), { replace: true })}
        isBusy={query.isRefetching && !query.isFetchingNextPage}
        onRefresh={() => void query.refetch()}
        endpoint={endpoint}
      />
      <Loaded query={query}>
        {({ pages }) => (
          <JobTable
            jobs={pages.flatMap(({ requests }) => requests)}
            hasMore={query.hasNextPage}
            isFiltered={hasFilter(filter)}
            linkOf={(id) => `?${writeJob(search, id)}`}
          />
        )}
      </Loaded>
      {query.hasNextPage && (
        <Group justify="center">
          <Button variant="default" onClick={() => void query.fetchNextPage()} loading={query.isFetchingNextPage}>
            {filter.error === '' ? 'Show more' : 'Search further'}
          </Button>
        </Group>
      )}
      <JobDrawer endpointId={endpoint.id} jobId={search.get('job')} onClose={() => open(null)} onOpen={open} />
    </Stack>
  );
}

function writeJob(search: URLSearchParams, job: string | null): URLSearchParams {
  const next = new URLSearchParams(search);
  if (job === null) next.delete('job');
  else next.set('job', job);
  return next;
}

/** The first page is read again while it has jobs that change; older ones stay as they were. */
function useJobs(id: string, filter: JobFilter) {
  return useInfiniteQuery({
    queryKey: ['jobs', id, filter],
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Schemas['JobList']) => page.nextCursor ?? undefined,
    refetchInterval: ({ state }) => {
      const pages = state.data?.pages ?? [];
      return pages.length === 1 && pages[0]!.requests.some((job) => !isFinal(job)) ? POLL_MS : false;
    },
    queryFn: ({ pageParam }: { pageParam: string | undefined }) => {
      const cursor = pageParam === undefined ? {} : { cursor: pageParam };
      const query = { limit: PAGE_SIZE, ...filterQuery(filter, Date.now()), ...cursor };
      return unwrap(api.GET('/v2/serverless/{id}/requests', { params: { path: { id }, query } }));
    },
  });
}

interface FiltersProps {
  filter: JobFilter;
  onChange: (change: Partial<JobFilter>) => void;
  isBusy: boolean;
  onRefresh: () => void;
  endpoint: EndpointTabProps['endpoint'];
}

function Filters({ filter, onChange, isBusy, onRefresh, endpoint }: FiltersProps) {
  return (
    <Group align="end" gap="xs" className="filters">
      <Select
        label="State"
        placeholder="All"
        data={STATES}
        value={filter.state === '' ? null : filter.state}
        onChange={(state) => onChange({ state: state ?? '' })}
        clearable
      />
      <Select
        label="Created"
        data={PERIODS}
        value={filter.period}
        onChange={(period) => onChange({ period: period ?? '' })}
        allowDeselect={false}
      />
      {filter.period === 'custom' && (
        <>
          <TimeInput label="From" value={filter.from} onChange={(from) => onChange({ from })} />
          <TimeInput label="Until" value={filter.until} onChange={(until) => onChange({ until })} />
        </>
      )}
      <TypedInput label="Worker" placeholder="All" value={filter.worker} onChange={(worker) => onChange({ worker })} />
      <TypedInput
        label="Error contains"
        placeholder="Any"
        value={filter.error}
        maxLength={MAX_ERROR_LENGTH}
        leftSection={<IconSearch size={15} aria-hidden />}
        onChange={(error) => onChange({ error })}
      />
      <Group gap="xs" ml="auto">
        <Button variant="default" onClick={onRefresh} loading={isBusy}>
          Refresh
        </Button>
        <PurgeButton endpoint={endpoint} />
      </Group>
    </Group>
  );
}

function TimeInput({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  return (
    <TextInput
      type="datetime-local"
      label={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** Reports what was typed once the typing pauses. */
function TypedInput({
  value,
  onChange,
  ...props
}: {
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
  maxLength?: number;
  leftSection?: React.ReactNode;
}) {
  const [typed, setTyped] = useState(value);
  const report = useDebouncedCallback(onChange, TYPING_MS);
  return (
    <TextInput
      {...props}
      value={typed}
      onChange={(event) => {
        setTyped(event.currentTarget.value);
        report(event.currentTarget.value);
      }}
    />
  );
}

/** Cancels all queued jobs, after a question. */
function PurgeButton({ endpoint: { id, name } }: { endpoint: EndpointTabProps['endpoint'] }) {
  const [isAsking, { open, close }] = useDisclosure(false);
  const queries = useQueryClient();
  const purge = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: async () => {
      const response = await request(`/v2/${id}/purge-queue`, { method: 'POST' });
      return ((await response.json()) as { removed: number }).removed;
    },
    onSuccess: (removed) => {
      close();
      notifySuccess(`Cancelled ${formatCount(removed, 'queued job')}.`);
      void queries.invalidateQueries({ queryKey: ['jobs', id] });
    },
  });
  return (
    <>
      <Button variant="default" onClick={open}>
        Purge queue
      </Button>
      <Modal opened={isAsking} onClose={close} title="Purge queue" centered>
        <Stack>
          <Text size="sm" className="anywhere">
            All queued jobs of <Name>{name}</Name> are cancelled for good, except those of batches. Running jobs
            continue.
          </Text>
          {purge.error && <ErrorAlert error={purge.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Keep them
            </Button>
            <Button color="red.9" onClick={() => purge.mutate()} loading={purge.isPending}>
              Cancel queued jobs
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}

interface JobTableProps {
  jobs: readonly Job[];
  hasMore: boolean;
  isFiltered: boolean;
  linkOf: (id: string) => string;
}

function JobTable({ jobs, hasMore, isFiltered, linkOf }: JobTableProps) {
  if (jobs.length === 0) {
    if (hasMore) return <EmptyNote>Nothing found among the newest failed jobs. Search further?</EmptyNote>;
    return (
      <EmptyNote>
        {isFiltered ? 'No jobs match.' : 'No jobs yet.'} Jobs that ended are listed while their result is kept.
      </EmptyNote>
    );
  }
  return (
    <SmallTable
      label="Jobs"
      titles={['Job', 'Status', 'Created', 'Queued', 'Ran', 'Worker', 'Error']}
      minWidth={860}
      isFocusable
      highlightOnHover
    >
      {jobs.map((job) => (
        <Table.Tr key={job.id}>
          <Table.Td>
            <Anchor component={Link} to={linkOf(job.id)} size="sm" className="job-id" title={job.id}>
              {shortId(job.id)}
            </Anchor>
          </Table.Td>
          <Table.Td>
            <Status table={JOB_STATUSES} value={job.status} />
          </Table.Td>
          <Table.Td>
            <RelativeTime at={job.createdAt} />
          </Table.Td>
          <Table.Td className="figure">{formatDuration(job.delayTime)}</Table.Td>
          <Table.Td className="figure">
            {job.executionTime === null ? NO_VALUE : formatDuration(job.executionTime)}
          </Table.Td>
          <Table.Td>{job.workerId ?? NO_VALUE}</Table.Td>
          <Table.Td>
            {job.error === null ? NO_VALUE : <Truncated text={parseJobError(job.error).message} maw={300} />}
          </Table.Td>
        </Table.Tr>
      ))}
    </SmallTable>
  );
}
