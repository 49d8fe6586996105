import createSdk from 'runpod-sdk';
import { describe, expect, test } from 'vitest';
import { Api, type Job, until } from './api.ts';
import type { ServerProcess } from './server-process.ts';

/** Returns an endpoint of the public npm client, pointed at this server. */
export function sdkEndpoint(server: ServerProcess, endpointId: string) {
  return createSdk(server.key, { baseUrl: `${server.url}/v2` }).endpoint(endpointId)!;
}

/** Collects the chunks of a streaming job. */
async function collect(chunks: AsyncGenerator<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return all;
}

/** The default of PODYARD_JOB_STOP_SECONDS. */
const JOB_STOP_MS = 5_000;

/** Options of the server for `queueCore`: GPUs for all tests at once, a scarce pool, and a small limit of results. */
export const CORE_SERVER = {
  gpus: 'ADA_24:40,AMPERE_16:2',
  env: { PODYARD_RESULT_BYTES: '1048576' },
};

/**
 * A queue endpoint used by the public client package, with real workers. `onRuntime` runs only the tests that depend on the
 * runtime.
 */
export function queueCore(getServer: () => ServerProcess, image: string, extent: 'whole' | 'onRuntime'): void {
  describe.concurrent(`a queue endpoint of ${image}`, () => defineCore(getServer, image, extent));
}

function defineCore(getServer: () => ServerProcess, image: string, extent: 'whole' | 'onRuntime'): void {
  const start = async (more: Record<string, unknown> = {}) => {
    const server = getServer();
    const api = new Api(server);
    const id = await api.createEndpoint({
      image,
      workers: { min: 0, max: 1 },
      scaling: { type: 'REQUEST_COUNT', value: 4, idleTimeout: 2 },
      ...more,
    });
    return { server, api, id, endpoint: sdkEndpoint(server, id), [Symbol.asyncDispose]: () => api.delete(id) };
  };

  test('runSync starts a worker from zero and returns the output; the worker stops when idle', async () => {
    await using life = await start();
    const { api, id, endpoint } = life;
    expect(await api.workers(id)).toEqual([]);
    const job = await endpoint.runSync({ input: { echo: { hello: 'world' } } }, 60_000);
    expect(job).toMatchObject({ status: 'COMPLETED', succeeded: true, output: { hello: 'world' } });
    expect(Number.isInteger(job.delayTime) && Number.isInteger(job.executionTime)).toBe(true);
    await until('no worker', async () => (await api.workers(id)).length === 0);
  });

  test('a job that crashes its worker is redelivered once, then fails; other jobs are unaffected', async () => {
    await using life = await start({ workers: { min: 0, max: 2 }, scaling: { type: 'REQUEST_COUNT', value: 1 } });
    const { api, id } = life;
    const [crash, fine] = await Promise.all([
      api.run(id, { crash: true }),
      api.run(id, { echo: 'fine', delayMs: 100 }),
    ]);
    expect(await api.ended(id, crash.id)).toMatchObject({
      status: 'FAILED',
      error: 'job timed out after 1 retries',
      retries: 1,
    });
    expect(await api.ended(id, fine.id)).toMatchObject({ status: 'COMPLETED', output: 'fine' });
  });

  test('worker logs stream as they are printed, and a reader that resumes neither misses nor repeats a line', async () => {
    await using life = await start();
    const { api, id, endpoint } = life;
    const first = (await endpoint.runSync({ input: { logLines: 30 } }, 60_000)) as Job;
    const workerId = first.workerId!;
    const lines = (events: { line: string }[]) =>
      events.map(({ line }) => line).filter((line) => /^line \d/.test(line));
    const before = await api.logs(id, workerId, (events) => lines(events).length >= 17);
    const upTo = before.findIndex(({ line }) => line === 'line 17');
    expect(before.some(({ source }) => source === 'system')).toBe(true);
    const rest = api.logs(id, workerId, (events) => lines(events).length >= 43, { after: before[upTo]!.id });
    await endpoint.runSync({ input: { logLines: 30 } }, 60_000);
    const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}`);
    expect(lines(before.slice(0, upTo + 1))).toEqual(numbers(1, 17));
    expect(lines(await rest)).toEqual([...numbers(18, 30), ...numbers(1, 30)]);
  });

  test('a worker that goes on with a cancelled job is replaced in time, and the next job runs', async () => {
    await using life = await start();
    const { api, id } = life;
    const { delayTime: coldMs = 0 } = await api.runToEnd(id, { echo: 'first' });
    const hung = await api.run(id, { hang: true });
    await until('it runs', async () => (await api.status(id, hung.id)).status === 'IN_PROGRESS');
    await api.call('POST', `/v2/${id}/cancel/${hung.id}`);
    const next = await api.run(id, { echo: 'after it' });
    await until('its worker is shown as busy', async () => {
      const { workers } = await api.call<{ workers: Record<string, number> }>('GET', `/v2/${id}/health`);
      return workers.idle === 0 && workers.running === 1; // a cluster may say later than the worker that it runs
    });
    const done = await api.ended(id, next.id, 90_000);
    console.log(`cold start ${coldMs} ms; behind a cancelled job that goes on ${done.delayTime} ms`);
    expect(done).toMatchObject({ status: 'COMPLETED', output: 'after it' });
    expect(done.delayTime).toBeGreaterThan(JOB_STOP_MS - 2_000);
    expect(done.delayTime).toBeLessThan(JOB_STOP_MS + 2 * coldMs + 10_000); // a busy cluster takes seconds to delete a pod
  });

  if (extent === 'onRuntime') return; // the rest depends only on what contract.ts proves of every runtime

  test('a job that exceeds its timeout fails; its worker is replaced and the next job runs', async () => {
    await using life = await start();
    const { api, id, endpoint } = life;
    await endpoint.runSync({ input: {} }, 60_000);
    const hung = await api.run(id, { hang: true }, { executionTimeout: 5_000 });
    const next = await api.run(id, { echo: 'after it' });
    const failed = await api.ended(id, hung.id);
    expect(failed).toMatchObject({ status: 'FAILED', error: 'executionTimeout exceeded' });
    expect(failed.executionTime).toBeGreaterThanOrEqual(5_000);
    expect(await api.ended(id, next.id, 90_000)).toMatchObject({ status: 'COMPLETED', output: 'after it' });
  });

  test('run returns at once, and status shows progress until the job is completed', async () => {
    await using life = await start();
    const { endpoint } = life;
    const { id: jobId, status } = await endpoint.run({ input: { echo: 7, delayMs: 300, progress: ['half'] } });
    expect(status).toBe('IN_QUEUE');
    await until('progress is shown as output', async () => {
      const job = await endpoint.status(jobId);
      return job.status === 'IN_PROGRESS' && 'output' in job && job.output === 'half';
    });
    const done = await until('completed', async () => {
      const job = await endpoint.status(jobId);
      return job.status === 'COMPLETED' && job;
    });
    expect(done).toMatchObject({ id: jobId, output: 7, completed: true, succeeded: true });
  });

  test('stream returns every chunk once and in order, while the job runs', async () => {
    await using life = await start();
    const { endpoint } = life;
    const { id: jobId } = await endpoint.run({ input: { stream: 6, delayMs: 50, echo: 'x' } });
    const chunks = await collect(endpoint.stream(jobId));
    expect(chunks).toEqual(Array.from({ length: 6 }, (_, index) => ({ output: { index, echo: 'x' } })));
    expect(await endpoint.status(jobId)).toMatchObject({ status: 'COMPLETED' });
  });

  test('cancel stops a running job at once, and its worker takes the next one', async () => {
    await using life = await start();
    const { api, id, endpoint } = life;
    const { id: jobId } = await endpoint.run({ input: { delayMs: 60_000 } });
    const workerId = await until('it runs', async () => {
      const job = await api.status(id, jobId);
      return job.status === 'IN_PROGRESS' && job.workerId;
    });
    expect(await endpoint.cancel(jobId)).toMatchObject({ id: jobId, status: 'CANCELLED' });
    expect(await endpoint.status(jobId)).toMatchObject({ status: 'CANCELLED' });
    const next = (await endpoint.runSync({ input: { echo: 1 } }, 60_000)) as Job;
    expect(next).toMatchObject({ status: 'COMPLETED', workerId });
  });

  test('health counts cancelled and purged jobs correctly', async () => {
    await using life = await start({ workers: { min: 0, max: 0 } });
    const { endpoint } = life;
    const jobs = await Promise.all([1, 2, 3, 4].map((echo) => endpoint.run({ input: { echo } })));
    expect(await endpoint.health()).toMatchObject({ jobs: { inQueue: 4, inProgress: 0 } });
    expect(await endpoint.cancel(jobs[0]!.id)).toMatchObject({ status: 'CANCELLED' });
    expect(await endpoint.purgeQueue()).toEqual({ removed: 3, status: 'completed' });
    expect(await endpoint.health()).toMatchObject({ jobs: { inQueue: 0, completed: 0 }, workers: { running: 0 } });
    for (const { id } of jobs) expect(await endpoint.status(id)).toMatchObject({ status: 'CANCELLED' });
  });

  test('a handler that throws fails its job with the message, and the worker continues', async () => {
    await using life = await start();
    const { endpoint } = life;
    const failed = (await endpoint.runSync({ input: { throw: 'the paint is wet' } }, 60_000)) as Job;
    expect(failed.status).toBe('FAILED');
    expect(failed.error).toContain('the paint is wet');
    const next = (await endpoint.runSync({ input: { echo: 1 } }, 60_000)) as Job;
    expect(next).toMatchObject({ status: 'COMPLETED', workerId: failed.workerId });
  });

  test('a result over the limit fails the job with both sizes, and the worker continues', async () => {
    await using life = await start();
    const { endpoint } = life;
    const large = (await endpoint.runSync({ input: { bytes: 2_000_000 } }, 60_000)) as Job;
    expect(large.status).toBe('FAILED');
    expect(large.error).toMatch(/result of 20000\d\d bytes is larger than the limit of 1048576 bytes/);
    const next = (await endpoint.runSync({ input: { bytes: 900_000 } }, 60_000)) as Job;
    expect((next.output as { data: string }).data).toHaveLength(900_000);
    expect(next.workerId).toBe(large.workerId);
  });

  test('a PATCH of workers, scaling or timeout takes effect promptly, without a new release', async () => {
    await using life = await start({ scaling: { type: 'REQUEST_COUNT', value: 4, idleTimeout: 3600 } });
    const { api, id, endpoint } = life;
    await api.patch(id, { workers: { min: 2, max: 2 } });
    await until('two are ready', async () => (await api.workers(id)).filter((w) => w.status === 'IDLE').length === 2);
    await api.patch(id, { timeout: 5_000 });
    const slow = (await endpoint.runSync({ input: { delayMs: 60_000 } }, 60_000)) as Job;
    expect(slow).toMatchObject({ status: 'FAILED', error: 'executionTimeout exceeded' });
    await api.patch(id, { workers: { min: 0 }, scaling: { idleTimeout: 1 } });
    await until('none is left', async () => (await api.workers(id)).length === 0);
    await api.patch(id, { workers: { max: 0 } });
    const stuck = await api.run(id, {});
    await using other = await start(); // once its worker has started, the scaler has seen all endpoints
    await other.endpoint.runSync({ input: {} }, 60_000);
    expect(await api.status(id, stuck.id)).toMatchObject({ status: 'IN_QUEUE' });
    expect(await api.workers(id)).toEqual([]);
    await api.patch(id, { workers: { max: 1 } });
    expect(await api.ended(id, stuck.id)).toMatchObject({ status: 'COMPLETED' });
    expect(await api.call('GET', `/v2/serverless/${id}/releases`)).toMatchObject({ endpointVersion: 1 });
  });

  test('without capacity a worker is THROTTLED and says what is missing; its jobs run once capacity is free', async () => {
    await using holder = await start({ gpu: { pools: ['AMPERE_16'], count: 2 }, workers: { min: 1, max: 1 } });
    const { api } = holder;
    await until('it holds all GPUs', async () => (await api.workers(holder.id))[0]?.status === 'IDLE');
    await using life = await start({ gpu: { pools: ['AMPERE_16'] } });
    const { id: jobId } = await life.endpoint.run({ input: { echo: 'at last' } });
    const throttled = await until('it is throttled', async () =>
      (await api.workers(life.id)).find((worker) => worker.status === 'THROTTLED'),
    );
    const log = await api.logs(life.id, throttled.id, (events) => events.length > 0);
    expect(log[0]).toMatchObject({ source: 'system' });
    expect(log[0]!.line).toContain('no capacity: it needs 1 GPU');
    expect(await life.endpoint.health()).toMatchObject({ workers: { throttled: 1 }, jobs: { inQueue: 1 } });
    await api.patch(holder.id, { workers: { min: 0, max: 0 } });
    expect(await api.ended(life.id, jobId)).toMatchObject({ status: 'COMPLETED', output: 'at last' });
  });

  test('a PATCH of image and env rolls out while jobs run, and none fails', async () => {
    await using life = await start({ workers: { min: 1, max: 2 }, env: { GREETING: 'one' } });
    const { api, id } = life;
    const seen: Job[] = [];
    let isOver = false;
    const load = Array.from({ length: 4 }, async () => {
      while (!isOver) seen.push(await api.runToEnd(id, { env: 'GREETING', delayMs: 60 }));
    });
    const sees = (greeting: string) => async () =>
      seen.some((job) => (job.output as { env: string })?.env === greeting);
    await until('the first release answers', sees('one'));
    await api.patch(id, { image: image.replace(/echo-\w+:dev/, 'echo-js:v2'), env: { GREETING: 'two' } });
    await until('the second release answers', sees('two'));
    await until('the roll-out is over', async () => {
      const { rollout } = await api.call<{ rollout: { inProgress: boolean; workersOnLatest: number } }>(
        'GET',
        `/v2/serverless/${id}/releases`,
      );
      return !rollout.inProgress && rollout.workersOnLatest > 0;
    });
    isOver = true;
    await Promise.all(load);
    expect(seen.filter((job) => job.status !== 'COMPLETED' || job.retries)).toEqual([]);
    expect((await api.workers(id)).every((worker) => worker.version === 2 && !worker.isStale)).toBe(true);
    expect(await api.runToEnd(id, { env: 'GREETING' })).toMatchObject({ output: { env: 'two' } });
  });
}
