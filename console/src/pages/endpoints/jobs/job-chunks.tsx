import { Button, Group, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { request } from '../../../api/client.ts';
import { readEvents } from '../../../api/follow-events.ts';
import { followChunks, NOTHING, type Streamed, textOf } from './follow-chunks.ts';
import type { JobDetail } from './job-steps.ts';
import { PayloadText } from './payload-view.tsx';

/** Follows a job's stream while it is mounted. Reading it as events uses nothing up. */
export function useChunks(
  endpointId: string,
  jobId: string | null,
  onDone: (job: string) => void = () => {},
): Streamed {
  const [streamed, setStreamed] = useState<{ jobId: string; streamed: Streamed } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another callback is no other stream
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
      {streamed.isCut && (
        <Text size="xs" c="dimmed">
          This is the beginning of a long stream.
        </Text>
      )}
    </Stack>
  );
}

/** The stored stream of a job, loaded when somebody asks for it. */
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
