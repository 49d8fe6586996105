import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../core/errors.ts';
import { hasEnded } from '../../core/job-states.ts';
import { counted } from '../../core/text/counted.ts';
import { ApiClient, type Target } from '../shared/api-client.ts';
import type { Schemas } from '../shared/api-types.ts';

/** Prints one line. */
export type Say = (line: string) => void;

const IMAGE = 'podyard/echo-js:dev';
const NEXT_IMAGE = 'podyard/echo-js:v2';
const BURST = 12;
const DEADLINE_MS = 120_000;

interface Job {
  id: string;
  status: string;
  delayTime: number;
  executionTime: number;
  output: unknown;
  error?: string;
  workerId: string;
}

/**
 * Runs an endpoint's whole life through the public API: deploys it, scales it from zero, loads it, rolls out a release
 * while it works, and scales it down again. Throws a sentence if anything fails. Deletes the endpoint unless `keep`.
 */
export async function runDemo(target: Target, say: Say, keep: boolean): Promise<{ endpointId: string }> {
  const api = new DemoClient(target);
  const step = async <T>(what: string, work: () => Promise<{ line: string; value: T }>): Promise<T> => {
    const startedAt = performance.now();
    const { line, value } = await work().catch((error) => {
      throw new Error(`${what}: ${messageOf(error)}`);
    });
    say(`  ${`${((performance.now() - startedAt) / 1000).toFixed(2)} s`.padStart(8)}  ${line}`);
    return value;
  };
  const id = await step('creating the endpoint', async () => {
    const body = {
      name: 'demo-echo',
      image: IMAGE,
      gpu: { pools: ['ADA_24'] },
      workers: { min: 0, max: 2 },
      scaling: { type: 'REQUEST_COUNT' as const, value: 4, idleTimeout: 2 },
      env: { GREETING: 'hello' },
    };
    const endpoint = await api.call('post', '/v2/serverless', { body });
    return { line: `endpoint ${endpoint.id} deployed from ${IMAGE}; no worker runs yet`, value: endpoint.id };
  });
  try {
    await showLife(api, id, step);
  } finally {
    if (!keep) await api.call('delete', '/v2/serverless/{id}', { path: { id } });
  }
  return { endpointId: id };
}

type Step = <T>(what: string, work: () => Promise<{ line: string; value: T }>) => Promise<T>;

async function showLife(api: DemoClient, id: string, step: Step): Promise<void> {
  await step('the first job', async () => {
    const job = await api.runSync(id, { env: 'GREETING' });
    expectGreeting(job, 'hello');
    const line = `first job: a worker started from zero in ${job.delayTime} ms; the handler took ${job.executionTime} ms and says "hello"`;
    return { line, value: undefined };
  });
  await step('a burst of jobs', async () => {
    const jobs = await Promise.all(Array.from({ length: BURST }, (_, i) => api.runSync(id, { echo: i, delayMs: 250 })));
    const workers = new Set(jobs.map((job) => job.workerId));
    const wrong = jobs.filter((job, i) => job.output !== i);
    if (wrong.length > 0)
      throw new Error(`${wrong.length} of ${BURST} jobs gave a wrong answer: ${JSON.stringify(wrong[0])}`);
    return {
      line: `${BURST} jobs at once: all answered, by ${counted(workers.size, 'worker')}`,
      value: undefined,
    };
  });
  await step('a streaming job', async () => {
    const chunks = await api.stream(id, { stream: 5 });
    if (chunks !== 5) throw new Error(`expected 5 chunks, got ${chunks}`);
    return { line: 'a streaming job: 5 chunks received while it ran', value: undefined };
  });
  await step('the roll-out', () => showRollOut(api, id));
  await step('a job on the new release', async () => {
    const job = await api.runSync(id, { env: 'GREETING' });
    expectGreeting(job, 'hello again');
    return { line: 'a job on the new release says "hello again"', value: undefined };
  });
  await step('scaling to zero', async () => {
    await api.until(async () => (await api.workers(id)).length === 0);
    return { line: 'idle for 2 s: all workers are gone again', value: undefined };
  });
}

function expectGreeting(job: Job, greeting: string): void {
  if ((job.output as { env?: string }).env === greeting) return;
  throw new Error(`expected "${greeting}", got ${JSON.stringify(job)}`);
}

/** Sends a PATCH while a long job runs: the job ends on the old release, new jobs run on the new one. */
async function showRollOut(api: DemoClient, id: string): Promise<{ line: string; value: undefined }> {
  const running = api.runSync(id, { echo: 'finished on the old release', delayMs: 1500 });
  await api.until(async () => (await api.workers(id)).some((worker) => worker.status === 'RUNNING'));
  const path = { id };
  const body = { image: NEXT_IMAGE, env: { GREETING: 'hello again' }, workers: { min: 1 } };
  await api.call('patch', '/v2/serverless/{id}', { path, body });
  const seen: string[] = [];
  await api.until(async () => {
    const { rollout } = await api.call('get', '/v2/serverless/{id}/releases', { path });
    const line = `${rollout.workersOnLatest}/${rollout.workersTotal}`;
    if (seen.at(-1) !== line) seen.push(line);
    return !rollout.inProgress && rollout.workersOnLatest > 0;
  });
  const job = await running;
  if (job.status !== 'COMPLETED') throw new Error(`the running job was disturbed: ${JSON.stringify(job)}`);
  await api.call('patch', '/v2/serverless/{id}', { path, body: { workers: { min: 0 } } });
  return {
    line: `PATCH to ${NEXT_IMAGE}: version 2 rolled out (workers on it: ${seen.join(' → ')}); the running job was not disturbed`,
    value: undefined,
  };
}

/** A client of the public API that runs jobs and waits. */
class DemoClient extends ApiClient {
  constructor(target: Target) {
    super(target, { interrupted: new AbortController().signal, env: {} });
  }

  async runSync(endpointId: string, input: object): Promise<Job> {
    let job = await this.json<Job>('POST', `/v2/${endpointId}/runsync?wait=60000`, { input });
    const deadline = performance.now() + DEADLINE_MS;
    while (!hasEnded(job.status)) {
      if (performance.now() > deadline)
        throw new Error(`the job ${job.id} is still ${job.status}; ${await this.#explain(endpointId)}`);
      job = await this.json<Job>('GET', `/v2/${endpointId}/status-sync/${job.id}?wait=60000`);
    }
    if (job.status !== 'COMPLETED') throw new Error(`the job ended as ${job.status}: ${job.error}`);
    return job;
  }

  /** Returns how many chunks arrived. */
  async stream(endpointId: string, input: object): Promise<number> {
    const { id } = await this.json<Job>('POST', `/v2/${endpointId}/run`, { input });
    let chunks = 0;
    for (;;) {
      const part = await this.json<{ status: string; stream: unknown[] }>('GET', `/v2/${endpointId}/stream/${id}`);
      chunks += part.stream.length;
      if (hasEnded(part.status)) return chunks;
    }
  }

  async workers(id: string): Promise<Schemas['Worker'][]> {
    return (await this.call('get', '/v2/serverless/{id}/workers', { path: { id } })).workers;
  }

  async until(isDone: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + DEADLINE_MS;
    while (!(await isDone())) {
      if (performance.now() > deadline) throw new Error(`not within ${DEADLINE_MS / 1000} s`);
      await sleep(50);
    }
  }

  async #explain(endpointId: string): Promise<string> {
    return `its workers: ${JSON.stringify(await this.workers(endpointId))}`;
  }
}
