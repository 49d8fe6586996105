import {
  Alert,
  Button,
  Code,
  Group,
  JsonInput,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { CodeSamples } from '../../ui/code-samples.tsx';
import { formatDuration } from '../../ui/format.ts';
import { messageOf } from '../../ui/notify.ts';
import { Status } from '../../ui/status.tsx';
import type { Endpoint } from './endpoint-values.ts';
import { httpSamples, jobSamples } from './samples.ts';

interface Job {
  id: string;
  status: string;
  delayTime?: number;
  executionTime?: number;
  workerId?: string;
  output?: unknown;
  error?: string;
}

const FINAL = new Set(['COMPLETED', 'FAILED', 'CANCELLED', 'TIMED_OUT']);

/** Runs a job or a request, and shows the answer, its timing, and the same call in code. */
export function RequestPanel({ endpoint }: { endpoint: Endpoint }) {
  return endpoint.type === 'LOAD_BALANCING' ? <HttpPanel endpoint={endpoint} /> : <JobPanel endpoint={endpoint} />;
}

function JobPanel({ endpoint }: { endpoint: Endpoint }) {
  const [text, setText] = useState('{\n  "echo": "hello"\n}');
  const [job, setJob] = useState<Job | null>(null);
  const run = useMutation({
    meta: { isShownInPlace: true },
    mutationFn: async () => {
      setJob(null);
      const startedAt = performance.now();
      const json = { 'content-type': 'application/json' };
      const post = await request(`/v2/${endpoint.id}/run`, {
        method: 'POST',
        body: `{"input":${text}}`,
        headers: json,
      });
      let current = (await post.json()) as Job;
      setJob(current);
      while (!FINAL.has(current.status)) {
        current = (await (await request(`/v2/${endpoint.id}/status-sync/${current.id}?wait=10000`)).json()) as Job;
        setJob(current);
      }
      return performance.now() - startedAt;
    },
  });
  const isValid = isJson(text);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Stack>
        <JsonInput
          label="Input"
          description="What the handler gets"
          value={text}
          onChange={setText}
          autosize
          minRows={6}
          maxRows={20}
          formatOnBlur
          error={isValid ? null : 'This is not valid JSON.'}
        />
        <Group>
          <Button onClick={() => run.mutate()} loading={run.isPending} disabled={!isValid}>
            Run the job
          </Button>
          {job && run.isPending && (
            <Button
              variant="default"
              onClick={() => void request(`/v2/${endpoint.id}/cancel/${job.id}`, { method: 'POST' })}
            >
              Cancel
            </Button>
          )}
        </Group>
        {run.error && <Alert color="red">{messageOf(run.error)}</Alert>}
        <Paper withBorder p="md" aria-live="polite" mih={150}>
          {job ? (
            <Stack gap="xs">
              <Group gap="md">
                <Status value={job.status} />
                {job.delayTime !== undefined && <Text size="sm">waited {formatDuration(job.delayTime)}</Text>}
                {job.executionTime !== undefined && <Text size="sm">ran {formatDuration(job.executionTime)}</Text>}
                {run.data !== undefined && <Text size="sm">{formatDuration(run.data)} in all</Text>}
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
          ) : (
            <Text size="sm" c="dimmed">
              The answer appears here. A first job on an endpoint without workers also starts one: watch it under Live.
            </Text>
          )}
        </Paper>
      </Stack>
      <SamplesOf title="The same call" samples={jobSamples(endpoint, isValid ? JSON.parse(text) : {})} />
    </SimpleGrid>
  );
}

interface HttpAnswer {
  status: number;
  text: string;
  ms: number;
  workerId: string | null;
}

function HttpPanel({ endpoint }: { endpoint: Endpoint }) {
  const [method, setMethod] = useState('GET');
  const [path, setPath] = useState('/');
  const [body, setBody] = useState('');
  const hasBody = method !== 'GET' && method !== 'DELETE';
  const send = useMutation<HttpAnswer>({
    meta: { isShownInPlace: true },
    mutationFn: async () => {
      const startedAt = performance.now();
      const json = { 'content-type': 'application/json' };
      const init = hasBody && body !== '' ? { method, body, headers: json } : { method };
      // By the path form: the page's own origin, whatever names this machine resolves.
      const response = await request(`/v2/${endpoint.id}/lb${path}`, init);
      const text = await response.text();
      const workerId = response.headers.get('x-runpod-worker-id');
      return { status: response.status, text, ms: performance.now() - startedAt, workerId };
    },
  });
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Stack>
        <Group align="end" wrap="nowrap">
          <Select
            label="Method"
            w={120}
            allowDeselect={false}
            data={['GET', 'POST', 'PUT', 'PATCH', 'DELETE']}
            value={method}
            onChange={(value) => setMethod(value ?? 'GET')}
          />
          <TextInput label="Path" flex={1} value={path} onChange={(event) => setPath(event.currentTarget.value)} />
        </Group>
        {hasBody && <JsonInput label="Body" value={body} onChange={setBody} autosize minRows={4} />}
        <Group>
          <Button onClick={() => send.mutate()} loading={send.isPending} disabled={!path.startsWith('/')}>
            Send the request
          </Button>
        </Group>
        {send.error && <Alert color="red">{messageOf(send.error)}</Alert>}
        <Paper withBorder p="md" aria-live="polite" mih={120}>
          {send.data ? (
            <Stack gap="xs">
              <Text size="sm">
                {send.data.status} after {formatDuration(send.data.ms)}
                {send.data.workerId ? ` by worker ${send.data.workerId}` : ''}
              </Text>
              <Code block mah={360} style={{ overflow: 'auto' }} tabIndex={0}>
                {send.data.text}
              </Code>
            </Stack>
          ) : (
            <Text size="sm" c="dimmed">
              The answer appears here. Without a ready worker the request waits until one is.
            </Text>
          )}
        </Paper>
      </Stack>
      <SamplesOf title="The same call" samples={httpSamples(endpoint, { method, path, body: hasBody ? body : '' })} />
    </SimpleGrid>
  );
}

function SamplesOf(props: { title: string; samples: { language: string; code: string }[] }) {
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h5" mb="xs">
        {props.title}
      </Title>
      <CodeSamples samples={props.samples} />
      <Text size="xs" c="dimmed" mt="xs">
        PODYARD_KEY stands for your API key.
      </Text>
    </Paper>
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
