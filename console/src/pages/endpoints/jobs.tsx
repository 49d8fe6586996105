import { Button, Code, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, type Schemas, unwrap } from '../../api/client.ts';
import { enumLabel } from '../../ui/enum-label.ts';
import { formatDate, formatDuration, NO_VALUE } from '../../ui/format.ts';
import { EmptyNote, Loaded } from '../../ui/page.tsx';
import { SmallTable } from '../../ui/small-table.tsx';
import { Status } from '../../ui/status.tsx';
import type { EndpointTabProps } from './endpoint-tab-props.ts';

type Job = Schemas['JobList']['requests'][number];

const STATES = ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT'];
const PERIODS = [
  { value: '', label: 'Any time' },
  { value: '300', label: 'Last 5 minutes' },
  { value: '3600', label: 'Last hour' },
  { value: '86400', label: 'Last 24 hours' },
];
const PAGE_SIZE = 50;
const TYPING_MS = 300;

/** Jobs of every state, newest first, page by page. */
export function Jobs({ endpoint }: EndpointTabProps) {
  const [status, setStatus] = useState<string | null>(null);
  const [worker, setWorker] = useState('');
  const [period, setPeriod] = useState('');
  const [workerId] = useDebouncedValue(worker.trim(), TYPING_MS);
  const query = useJobs(endpoint.id, { status, workerId, period });
  return (
    <Stack>
      <Group align="end">
        <Select
          label="State"
          placeholder="All"
          data={STATES.map((value) => ({ value, label: enumLabel(value) }))}
          value={status}
          onChange={setStatus}
          clearable
        />
        <Select label="Created" data={PERIODS} value={period} onChange={(value) => setPeriod(value ?? '')} />
        <TextInput
          label="Worker"
          placeholder="All"
          value={worker}
          onChange={(event) => setWorker(event.currentTarget.value)}
        />
        <Button variant="default" onClick={() => void query.refetch()} loading={query.isRefetching}>
          Refresh
        </Button>
      </Group>
      <Loaded query={query}>{({ pages }) => <JobTable jobs={pages.flatMap(({ requests }) => requests)} />}</Loaded>
      {query.hasNextPage && (
        <Group justify="center">
          <Button variant="default" onClick={() => void query.fetchNextPage()} loading={query.isFetchingNextPage}>
            Show more
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function useJobs(id: string, filter: { status: string | null; workerId: string; period: string }) {
  const { status, workerId, period } = filter;
  return useInfiniteQuery({
    queryKey: ['jobs', id, filter],
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Schemas['JobList']) => page.nextCursor ?? undefined,
    queryFn: ({ pageParam }: { pageParam: string | undefined }) => {
      const query = {
        limit: PAGE_SIZE,
        ...(status === null ? {} : { status }),
        ...(workerId === '' ? {} : { workerId }),
        ...(period === '' ? {} : { since: new Date(Date.now() - Number(period) * 1000).toISOString() }),
        ...(pageParam === undefined ? {} : { cursor: pageParam }),
      };
      return unwrap(api.GET('/v2/serverless/{id}/requests', { params: { path: { id }, query } }));
    },
  });
}

function JobTable({ jobs }: { jobs: readonly Job[] }) {
  if (jobs.length === 0) {
    return <EmptyNote>No jobs match. Jobs that ended are listed while their result is kept.</EmptyNote>;
  }
  return (
    <SmallTable
      label="Jobs"
      titles={['Job', 'Status', 'Created', 'Queued', 'Ran', 'Worker', 'Error']}
      minWidth={900}
      isFocusable
    >
      {jobs.map((job) => (
        <Table.Tr key={job.id}>
          <Table.Td>
            <Code>{job.id}</Code>
          </Table.Td>
          <Table.Td>
            <Status value={job.status} />
          </Table.Td>
          <Table.Td>{formatDate(job.createdAt)}</Table.Td>
          <Table.Td className="figure">{formatDuration(job.delayTime)}</Table.Td>
          <Table.Td className="figure">
            {job.executionTime === null ? NO_VALUE : formatDuration(job.executionTime)}
          </Table.Td>
          <Table.Td>{job.workerId ?? NO_VALUE}</Table.Td>
          <Table.Td>
            <Text size="sm" lineClamp={2} maw={280}>
              {job.error ?? NO_VALUE}
            </Text>
          </Table.Td>
        </Table.Tr>
      ))}
    </SmallTable>
  );
}
