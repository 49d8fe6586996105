import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { parseJobError } from '../../../../../src/core/text/job-error.ts';
import { api, request, unwrap } from '../../../api/client.ts';
import { readEvents } from '../../../api/follow-events.ts';
import { Hint } from '../../../ui/hint.tsx';
import { formatDuration } from '../../../ui/text/format.ts';
import { ReasonAlert } from '../../../ui/text/reason-view.tsx';
import { Status } from '../../../ui/text/status.tsx';
import { followChunks, NOTHING, type Streamed, textOf } from './follow-chunks.ts';
import { JOB_STATUSES } from './job-status.ts';
import { describeAhead, type JobDetail, pollMs } from './job-steps.ts';
import { PayloadText, StoredPayload, WorkerError } from './payload-view.tsx';

/** A job, read again while it waits or runs. */
export function useJobDetail(endpointId: string, jobId: string) {
  return useQuery({
    queryKey: ['job', endpointId, jobId],
    refetchInterval: ({ state }) => pollMs(state.data),
    queryFn: () =>
      unwrap(api.GET('/v2/serverless/{id}/requests/{jobId}', { params: { path: { id: endpointId, jobId } } })),
  });
}

/** State and durations in one line. */
export function JobFacts({ job }: { job: JobDetail }) {
  return (
    <Group gap="md">
      <Status table={JOB_STATUSES} value={job.status} />
      <Text size="sm" c="dimmed" className="figure">
        Queued {formatDuration(job.delayTime)}
      </Text>
      {job.executionTime !== null && (
        <Text size="sm" c="dimmed" className="figure">
          {job.finishedAt === null ? 'Running for' : 'Ran'} {formatDuration(job.executionTime)}
        </Text>
      )}
      {job.retries > 0 && <Hint>{job.retries === 1 ? 'Redelivered once' : `Redelivered ${job.retries} times`}</Hint>}
    </Group>
  );
}

/** Why a queued job waits, and how many come first. */
export function JobWait({ wait }: { wait: JobDetail['wait'] }) {
  if (wait === null) return null;
  if (wait.reason === 'FAILING' || wait.reason === 'PAUSED' || wait.reason === 'WAITING_FOR_CAPACITY') {
    const title = wait.reason === 'FAILING' ? 'It waits: workers fail' : 'It waits';
    return <ReasonAlert color={wait.reason === 'FAILING' ? 'red' : 'orange'} title={title} reason={wait.text} />;
  }
  return (
    <Alert color="gray" title={describeAhead(wait.ahead)}>
      {sentence(wait.text)}
    </Alert>
  );
}

/** The error, the output or the progress of a job. */
export function JobOutcome({ endpointId, job }: { endpointId: string; job: JobDetail }) {
  const base = `/v2/serverless/${endpointId}/requests/${job.id}`;
  const version = `${job.finishedAt}/${job.outputBytes}/${job.finishedAt === null ? job.executionTime : ''}`;
  return (
    <>
      {job.error !== null && (
        <WorkerError {...parseJobError(job.error)}>
          {job.errorBytes !== null && job.errorBytes > 65_536 && (
            <StoredPayload
              title="Whole error"
              path={`${base}/error`}
              bytes={job.errorBytes}
              fileName={`${job.id}-error.txt`}
              version={version}
            />
          )}
        </WorkerError>
      )}
      {job.outputBytes !== null && (
        <StoredPayload
          title={job.finishedAt === null ? 'Progress' : 'Output'}
          path={`${base}/output`}
          bytes={job.outputBytes}
          fileName={`${job.id}-output.json`}
          version={version}
        />
      )}
    </>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Follows a job's stream while it is mounted. Reading it as events uses nothing up. */
export function useChunks(
  endpointId: string,
  jobId: string | null,
  onDone: (job: string) => void = () => {},
): Streamed {
  const [streamed, setStreamed] = useState<{ jobId: string; streamed: Streamed } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another callback does not change the stream
  useEffect(() => {
    if (jobId === null) return;
    const controller = new AbortController();
    void followChunks({
      connect: (lastId, signal) => connect(`/v2/${endpointId}/stream/${jobId}`, lastId, signal),
      onChange: (next) => setStreamed({ jobId, streamed: next }),
      onDone,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      signal: controller.signal,
    });
    return () => controller.abort();
  }, [endpointId, jobId]);
  return streamed?.jobId === jobId && streamed !== null ? streamed.streamed : NOTHING;
}

async function* connect(path: string, lastId: string | null, signal: AbortSignal) {
  const headers = { accept: 'text/event-stream', ...(lastId === null ? {} : { 'last-event-id': lastId }) };
  const response = await request(path, { signal, headers });
  yield* readEvents(response.body!);
}

/** The stream of a job, as text. */
export function StreamText({ streamed, fileName }: { streamed: Streamed; fileName: string }) {
  if (streamed.chunks.length === 0) return null;
  return (
    <Stack gap={4}>
      <PayloadText title="Stream" text={textOf(streamed.chunks)} fileName={fileName} />
      {streamed.isCut && <Hint size="xs">This is the beginning of a long stream.</Hint>}
    </Stack>
  );
}

/** The stored stream of a job, loaded on demand. */
export function JobChunks({ endpointId, job }: { endpointId: string; job: JobDetail }) {
  const [isAsked, setAsked] = useState(false);
  const streamed = useChunks(endpointId, isAsked ? job.id : null);
  if (isAsked) return <StreamText streamed={streamed} fileName={`${job.id}-stream.txt`} />;
  return (
    <Group gap="xs">
      <Text size="sm" fw={600}>
        Stream
      </Text>
      <Button variant="default" size="xs" onClick={() => setAsked(true)}>
        Load {job.chunks >= 1_000 ? 'more than 1,000' : job.chunks} {job.chunks === 1 ? 'chunk' : 'chunks'}
      </Button>
    </Group>
  );
}
