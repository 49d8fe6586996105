import { Anchor, Button, Group, JsonInput, SimpleGrid, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { BASE_URL, request } from '../../../api/client.ts';
import { ErrorAlert } from '../../../ui/error-alert.tsx';
import { Hint } from '../../../ui/hint.tsx';
import { JobFacts, JobOutcome, JobWait, StreamText, useChunks, useJobDetail } from '../jobs/job-result.tsx';
import { isFinal } from '../jobs/job-status.ts';
import { isJson, prettyJson } from '../jobs/payload-text.ts';
import type { Endpoint } from '../settings/endpoint-values.ts';
import { submitJob } from './http-call.ts';
import type { SentRequest } from './request-history.ts';
import { RequestHistory, useHistoryOf } from './request-history-panel.tsx';
import { CallSamples, ResponseBox } from './request-parts.tsx';
import { jobSamples } from './samples.ts';

const EXAMPLE_INPUT = '{\n  "echo": "hello"\n}';

/** Runs a job: what it streams as it comes, then its result. */
export function JobPanel({ endpoint }: { endpoint: Endpoint }) {
  const history = useHistoryOf(endpoint.id);
  const [input, setInput] = useState(EXAMPLE_INPUT);
  const [sent, setSent] = useState<(SentRequest & { kind: 'job' }) | null>(null);
  const submission = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: () => submitJob(request, endpoint.id, input),
    onSuccess: (jobId) => {
      const job = { kind: 'job', at: Date.now(), input, jobId, outcome: 'IN_QUEUE', ms: null } as const;
      setSent(job);
      history.add(job);
    },
  });
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
          onBlur={() => setInput(prettyJson(input))}
          error={isValid ? null : 'Invalid JSON'}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        />
        <Group>
          <Button onClick={() => submission.mutate()} loading={submission.isPending} disabled={!isValid}>
            Run job
          </Button>
        </Group>
        {submission.error && <ErrorAlert error={submission.error} />}
        <ResponseBox>
          {sent === null ? (
            <Hint>The result appears here. If no worker is running, one starts first.</Hint>
          ) : (
            <JobRun key={sent.jobId} endpointId={endpoint.id} sent={sent} onOutcome={history.add} />
          )}
        </ResponseBox>
      </Stack>
      <Stack>
        <CallSamples samples={jobSamples(BASE_URL, endpoint.id, isValid ? JSON.parse(input) : {})} />
        <RequestHistory
          endpointId={endpoint.id}
          requests={history.requests}
          onUse={(request) => request.kind === 'job' && setInput(request.input)}
          onClear={history.clear}
        />
      </Stack>
    </SimpleGrid>
  );
}

interface JobRunProps {
  endpointId: string;
  sent: SentRequest & { kind: 'job' };
  onOutcome: (request: SentRequest) => void;
}

/** A submitted job on its way and at its end. */
function JobRun({ endpointId, sent, onOutcome }: JobRunProps) {
  const { jobId } = sent;
  const queries = useQueryClient();
  const { data: job, error, refetch } = useJobDetail(endpointId, jobId);
  const streamed = useChunks(endpointId, jobId, (text) => {
    void refetch();
    onOutcome({ ...sent, outcome: (JSON.parse(text) as { status: string }).status, ms: Date.now() - sent.at });
  });
  const cancellation = useMutation({
    mutationFn: () => request(`/v2/${endpointId}/cancel/${jobId}`, { method: 'POST' }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['job', endpointId, jobId] }),
  });
  if (job === undefined) {
    return error ? <ErrorAlert error={error} retry={() => void refetch()} /> : <Text size="sm">Queued…</Text>;
  }
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <JobFacts job={job} />
        {!isFinal(job) && (
          <Button size="xs" variant="default" onClick={() => cancellation.mutate()} loading={cancellation.isPending}>
            Cancel
          </Button>
        )}
      </Group>
      <JobWait wait={job.wait} />
      <StreamText streamed={streamed} fileName={`${jobId}-stream.txt`} />
      <JobOutcome endpointId={endpointId} job={job} />
      <Hint size="xs">
        <Anchor size="xs" underline="always" component={Link} to={`/endpoints/${endpointId}/jobs?job=${jobId}`}>
          Open the job
        </Anchor>
        {job.workerId === null ? '' : ` · worker ${job.workerId}`}
      </Hint>
    </Stack>
  );
}
