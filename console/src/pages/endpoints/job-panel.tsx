import { Alert, Button, Code, Group, JsonInput, SimpleGrid, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { messageOf } from '../../api/api-error.ts';
import { BASE_URL, request } from '../../api/client.ts';
import { formatDuration } from '../../ui/format.ts';
import { Status } from '../../ui/status.tsx';
import type { Endpoint } from './endpoint-values.ts';
import { CallSamples, ResponseBox } from './request-parts.tsx';
import { isJson, type Job, runJob } from './run-job.ts';
import { jobSamples } from './samples.ts';

const EXAMPLE_INPUT = '{\n  "echo": "hello"\n}';

export function JobPanel({ endpoint }: { endpoint: Endpoint }) {
  const [input, setInput] = useState(EXAMPLE_INPUT);
  const { job, totalMs, isRunning, error, run, cancel } = useJob(endpoint.id);
  const isValid = isJson(input);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Stack>
        <JsonInput
          label="Input"
          description="Passed to the handler"
          value={input}
          onChange={setInput}
          autosize
          minRows={6}
          maxRows={20}
          formatOnBlur
          error={isValid ? null : 'Invalid JSON'}
        />
        <Group>
          <Button onClick={() => run(input)} loading={isRunning} disabled={!isValid}>
            Run job
          </Button>
          {job && isRunning && (
            <Button variant="default" onClick={cancel}>
              Cancel
            </Button>
          )}
        </Group>
        {error && <Alert color="red">{messageOf(error)}</Alert>}
        <ResponseBox>
          {job ? (
            <JobResult job={job} totalMs={totalMs} />
          ) : (
            <Text size="sm" c="dimmed">
              The result appears here. If no worker is running, one starts first.
            </Text>
          )}
        </ResponseBox>
      </Stack>
      <CallSamples samples={jobSamples(BASE_URL, endpoint.id, isValid ? JSON.parse(input) : {})} />
    </SimpleGrid>
  );
}

/** Runs jobs, one at a time; `totalMs` is known once the job is final. */
function useJob(endpointId: string) {
  const [job, setJob] = useState<Job | null>(null);
  const run = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: async (inputJson: string) => {
      setJob(null);
      const startedAt = performance.now();
      await runJob(request, endpointId, inputJson, setJob);
      return performance.now() - startedAt;
    },
  });
  const cancellation = useMutation({
    mutationFn: (jobId: string) => request(`/v2/${endpointId}/cancel/${jobId}`, { method: 'POST' }),
  });
  return {
    job,
    totalMs: run.data,
    isRunning: run.isPending,
    error: run.error,
    run: run.mutate,
    cancel: () => job && cancellation.mutate(job.id),
  };
}

function JobResult({ job, totalMs }: { job: Job; totalMs: number | undefined }) {
  const { delayTime, executionTime } = job;
  return (
    <Stack gap="xs">
      <Group gap="md">
        <Status value={job.status} />
        {delayTime !== undefined && <Text size="sm">Queued {formatDuration(delayTime)}</Text>}
        {executionTime !== undefined && <Text size="sm">Ran {formatDuration(executionTime)}</Text>}
        {totalMs !== undefined && <Text size="sm">Total {formatDuration(totalMs)}</Text>}
      </Group>
      {job.error && <Alert color="red">{job.error}</Alert>}
      {job.output !== undefined && (
        <Code block mah={360} style={{ overflow: 'auto' }} tabIndex={0}>
          {JSON.stringify(job.output, null, 2)}
        </Code>
      )}
      <Text size="xs" c="dimmed">
        Job {job.id}
        {job.workerId ? ` on worker ${job.workerId}` : ''}
      </Text>
    </Stack>
  );
}
