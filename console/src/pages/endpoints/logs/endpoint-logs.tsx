import { Badge, Button, Group, Select, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useSearchParams } from 'react-router';
import { api, type Schemas, unwrap } from '../../../api/client.ts';
import { ErrorAlert } from '../../../ui/error-alert.tsx';
import { LogView, useUrlFilter } from '../../../ui/logs/log-view.tsx';
import { RowsSkeleton } from '../../../ui/page.tsx';
import type { EndpointTabProps } from '../endpoint-tab-props.ts';
import { jobFilter } from '../jobs/job-steps.ts';
import { useEndedWorkers } from '../workers/ended-workers.tsx';
import { workerOptions } from '../workers/worker-status.ts';

/** The logs of all workers together, of one of them, or the lines of a job: `?worker=…`, `?job=…`. */
export function EndpointLogs(props: EndpointTabProps) {
  const [search] = useSearchParams();
  const jobId = search.get('job');
  return jobId === null ? <WorkerLogs {...props} /> : <JobLogs key={jobId} {...props} jobId={jobId} />;
}

function WorkerLogs(props: EndpointTabProps) {
  const { endpoint, snapshot } = props;
  const ended = useEndedWorkers(props);
  const [filter, setFilter] = useUrlFilter();
  return (
    <Stack gap="sm">
      <Select
        aria-label="Worker"
        size="xs"
        maw={{ sm: 340 }}
        clearable
        searchable
        data={workerOptions(snapshot?.workers ?? [], filter.workerId, ended)}
        value={filter.workerId}
        onChange={(workerId) => setFilter({ ...filter, workerId })}
        placeholder="All workers"
      />
      <LogView place={`/v2/serverless/${endpoint.id}`} filter={filter} onFilter={setFilter} />
    </Stack>
  );
}

function JobLogs({ endpoint, jobId }: EndpointTabProps & { jobId: string }) {
  const path = { id: endpoint.id, jobId };
  const query = useQuery({
    queryKey: ['endpoint', endpoint.id, 'job', jobId, 'log'],
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/requests/{jobId}', { params: { path } })),
    // A job that waits or runs has no end yet.
    refetchInterval: ({ state }) => (state.data && state.data.finishedAt === null ? 2_000 : false),
  });
  if (query.error) return <ErrorAlert error={query.error} />;
  return query.data ? <LinesOfJob job={query.data} place={`/v2/serverless/${endpoint.id}`} /> : <RowsSkeleton />;
}

interface JobProps {
  job: Schemas['JobDetail'];
  place: `/v2/serverless/${string}`;
}

/** The lines of the job's worker while it ran. Worker kits name the job in its lines, so they are marked. */
function LinesOfJob({ job, place }: JobProps) {
  const [search, setSearch] = useSearchParams();
  const [filter, setFilter] = useUrlFilter();
  const { workerId, startedAt, finishedAt } = job;
  const times = useMemo(() => jobFilter({ workerId, startedAt, finishedAt }), [workerId, startedAt, finishedAt]);
  const combined = useMemo(() => ({ ...filter, ...times }), [filter, times]);
  const isNamed = filter.search === job.id;
  const leave = () => {
    search.delete('job');
    setSearch(search, { replace: true });
  };
  return (
    <Stack gap="sm">
      <Group gap="xs">
        <Badge variant="light" tt="none" ff="monospace" maw="100%">
          Job {job.id}
        </Badge>
        <Button
          size="compact-xs"
          variant={isNamed ? 'light' : 'default'}
          aria-pressed={isNamed}
          onClick={() => setFilter({ ...filter, search: isNamed ? '' : job.id })}
        >
          Only lines that name it
        </Button>
        <Button size="compact-xs" variant="subtle" onClick={leave}>
          Show all logs
        </Button>
      </Group>
      <LogView
        place={place}
        filter={combined}
        onFilter={(changed) => setFilter({ ...changed, workerId: null, range: null, since: null, until: null })}
        {...(filter.search === '' ? { marked: job.id } : {})}
      />
    </Stack>
  );
}
