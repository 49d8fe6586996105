import { Anchor, Button, Group, Paper, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { api, BASE_URL, request, unwrap } from '../../api/client.ts';
import { useLive } from '../../api/events.ts';
import type { EndpointSnapshot } from '../../api/live-snapshots.ts';
import { CopyIcon } from '../../ui/copyable.tsx';
import { Hint } from '../../ui/hint.tsx';
import { Name } from '../../ui/text/record-name.tsx';
import { JobFacts, JobOutcome, JobWait, useJobDetail } from '../endpoints/jobs/job-result.tsx';
import { submitJob } from '../endpoints/requests/http-call.ts';
import { NEW_ENDPOINT, newEndpointBody } from '../endpoints/settings/endpoint-values.ts';

const FIRST = {
  ...NEW_ENDPOINT,
  name: 'first',
  image: 'podyard/echo-js:dev',
  hardware: 'cpu' as const,
  cpu: [{ id: 'cpu3c', vcpuCount: 2 }],
  workers: { ...NEW_ENDPOINT.workers, max: 1 },
};
const INPUT = '{"echo": "hello"}';

/**
 * The way from an empty installation to the first answer. Follows what happens, whether it is done here or in a terminal:
 * `count` is the number of endpoints now.
 */
export function FirstSteps({ count, onDone }: { count: number; onDone: () => void }) {
  const endpoint = useFirstEndpoint(count);
  return (
    <Paper withBorder component="section" aria-labelledby="first-steps" className="first-steps">
      <Title order={2} size="h3" id="first-steps">
        Deploy your first endpoint
      </Title>
      <Text size="sm" c="dimmed" mt={4} mb="lg" maw={620}>
        An endpoint runs your image and scales its workers with demand, down to zero. Do each step here or in a
        terminal; this page follows.
      </Text>
      <ol className="steps">
        <Deploy endpoint={endpoint} />
        {endpoint ? <Call key={endpoint.id} endpoint={endpoint} onDone={onDone} /> : <Later />}
      </ol>
    </Paper>
  );
}

interface First {
  id: string;
  name: string;
}

/** Read again whenever their number changes. */
function useFirstEndpoint(count: number): First | undefined {
  const { data } = useQuery({
    queryKey: ['endpoints', 'first', count],
    enabled: count > 0,
    queryFn: () => unwrap(api.GET('/v2/serverless')),
  });
  return data?.endpoints[0];
}

function Deploy({ endpoint }: { endpoint: First | undefined }) {
  const queries = useQueryClient();
  const deployment = useMutation({
    mutationFn: () => unwrap(api.POST('/v2/serverless', { body: newEndpointBody(FIRST) })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['endpoints'] }),
  });
  if (endpoint) {
    return (
      <Step title="Deploy an endpoint" state="done">
        <Text size="sm">
          <Anchor component={Link} to={`/endpoints/${endpoint.id}`} size="sm" underline="always">
            <Name>{endpoint.name}</Name>
          </Anchor>{' '}
          is deployed. Without jobs it has no workers.
        </Text>
      </Step>
    );
  }
  return (
    <Step title="Deploy an endpoint" state="now">
      <Command text={`podyard endpoints create ${FIRST.name} --image ${FIRST.image} --cpu cpu3c:2 --workers-max 1`}>
        <Button onClick={() => deployment.mutate()} loading={deployment.isPending}>
          Deploy it
        </Button>
      </Command>
      <Hint>
        Its image answers with what it is sent. Or begin with{' '}
        <Anchor component={Link} to="/endpoints/new" size="sm" underline="always">
          your own image
        </Anchor>
        ,{' '}
        <Anchor component={Link} to="/models/deploy" size="sm" underline="always">
          a model
        </Anchor>{' '}
        or{' '}
        <Anchor href={`${BASE_URL}/docs/deploy`} target="_blank" size="sm" underline="always">
          a folder
        </Anchor>
        .
      </Hint>
    </Step>
  );
}

/** The second and third step, as far as they are. */
function Call({ endpoint: { id, name }, onDone }: { endpoint: First; onDone: () => void }) {
  const { snapshot } = useLive<EndpointSnapshot>(`/v2/serverless/${id}/live`);
  const jobId = useFirstJob(id, snapshot);
  const submission = useMutation({ mutationFn: () => submitJob(request, id, INPUT) });
  return (
    <>
      <Step title="Send it a job" state={jobId === undefined ? 'now' : 'done'}>
        {jobId === undefined ? (
          <Command text={`podyard run ${/^[\w-]+$/.test(name) ? name : id} '${INPUT}'`}>
            <Button onClick={() => submission.mutate()} loading={submission.isPending}>
              Send it
            </Button>
          </Command>
        ) : (
          <Text size="sm">The first job is here.</Text>
        )}
      </Step>
      {jobId === undefined ? (
        <Step title="See the answer" state="later">
          <Hint>A worker starts for the job, and stops when it is idle.</Hint>
        </Step>
      ) : (
        <Answer endpointId={id} jobId={jobId} onDone={onDone} />
      )}
    </>
  );
}

/** The oldest job that the server still has; read again when the figures of the endpoint change. */
function useFirstJob(id: string, snapshot: EndpointSnapshot | undefined): string | undefined {
  const { completed = 0, failed = 0, inQueue = 0, inProgress = 0 } = snapshot?.jobs ?? {};
  const figures = [completed, failed, inQueue, inProgress];
  const { data } = useQuery({
    queryKey: ['first-job', id, ...figures],
    enabled: figures.some((figure) => figure > 0),
    placeholderData: (before) => before,
    queryFn: () => unwrap(api.GET('/v2/serverless/{id}/requests', { params: { path: { id } } })),
  });
  return data?.requests.at(-1)?.id;
}

function Answer({ endpointId, jobId, onDone }: { endpointId: string; jobId: string; onDone: () => void }) {
  const { data: job } = useJobDetail(endpointId, jobId);
  const hasEnded = job !== undefined && job.finishedAt !== null;
  return (
    <Step title="See the answer" state={hasEnded && job.error === null ? 'done' : 'now'}>
      <div role="status" className="first-answer">
        {job ? <JobFacts job={job} /> : <Hint>Reading the job…</Hint>}
        {job && <JobWait wait={job.wait} />}
        {job && <JobOutcome endpointId={endpointId} job={job} />}
      </div>
      {hasEnded && (
        <Group gap="xs" mt="sm">
          <Button component={Link} to={`/endpoints/${endpointId}`}>
            Open the endpoint
          </Button>
          <Button variant="default" onClick={onDone}>
            Done
          </Button>
        </Group>
      )}
    </Step>
  );
}

function Later() {
  return (
    <>
      <Step title="Send it a job" state="later">
        <Hint>With one command or one click.</Hint>
      </Step>
      <Step title="See the answer" state="later">
        <Hint>A worker starts for the job, and stops when it is idle.</Hint>
      </Step>
    </>
  );
}

/** A command to copy, and the button that does the same here. */
function Command({ text, children }: { text: string; children: ReactNode }) {
  return (
    <div className="step-command">
      <div className="step-code">
        <code>
          {text.split(' ').map((word, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the words of a command stay where they are
            <span key={index}>{word} </span>
          ))}
        </code>
        <CopyIcon text={text} what="command" />
      </div>
      {children}
    </div>
  );
}

function Step(props: { title: string; state: 'done' | 'now' | 'later'; children: ReactNode }) {
  const { title, state, children } = props;
  return (
    <li data-state={state} aria-current={state === 'now' ? 'step' : undefined}>
      <Text fw={600} size="sm" mb={4} c={state === 'later' ? 'dimmed' : undefined}>
        {title}
      </Text>
      {children}
    </li>
  );
}
