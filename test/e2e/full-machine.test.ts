import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Api, type Job, until, type Worker } from './api.ts';
import { run, runToFailure } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';
import { WebClient, WebLoad } from './web-load.ts';

/** A roll-out has twice the steps of a first worker, which is decided on, placed and started: the old one is told to leave, and ends. */
const FIRST_STARTS = 3;

interface Releases {
  rollout: { inProgress: boolean; workersOnLatest: number; workersTotal: number };
}

/** One GPU, which is always in use: the worst case of everything that needs a second one for a moment. */
describe('a machine with a single GPU', () => {
  let server: ServerProcess;
  let api: Api;
  beforeAll(async () => {
    server = await ServerProcess.start({ runtime: 'process', gpus: 'ADA_24:1' });
    api = new Api(server);
  });
  afterAll(() => server?.dispose());
  afterEach(async () => {
    await api.deleteAll();
    await until('the GPU is free', async () => {
      const rows = await server.query("select from workers where phase <> 'EXITED'");
      return rows.length === 0;
    });
  });

  const ready = (id: string, isRight: (worker: Worker) => boolean = () => true) =>
    until('a worker is ready', async () => {
      const workers = await api.workers(id);
      return workers.find((worker) => /RUNNING|IDLE/.test(worker.status) && isRight(worker));
    });
  const releases = (id: string) => api.call<Releases>('GET', `/v2/serverless/${id}/releases`);

  test('a release rolls out: the idle old worker leaves first, and it takes no longer than a few first starts', async () => {
    const createdAt = performance.now();
    const id = await api.createEndpoint({ workers: { min: 1, max: 3 } });
    const old = await ready(id);
    const firstMs = performance.now() - createdAt;
    const patchedAt = performance.now();
    await api.patch(id, { image: 'podyard/echo-js:v2' });
    const before = await releases(id);
    expect(before.rollout).toMatchObject({ inProgress: true, workersOnLatest: 0 }); // one that waits is not on it
    const replacement = await ready(id, ({ version }) => version === 2);
    const tookMs = performance.now() - patchedAt;
    console.log(`roll-out on a full machine: ${Math.round(tookMs)} ms, the first worker: ${Math.round(firstMs)} ms`);
    expect(tookMs).toBeLessThan(FIRST_STARTS * firstMs);
    await until('the roll-out is over', async () => !(await releases(id)).rollout.inProgress);
    expect((await api.workers(id)).map((worker) => worker.id)).toEqual([replacement.id]);
    const { decisions } = await api.call<{ decisions: { actions: { workerId: string; cause: string }[] }[] }>(
      'GET',
      `/v2/serverless/${id}/decisions`,
    );
    const actions = decisions.flatMap((decision) => decision.actions);
    expect(actions.find(({ workerId, cause }) => workerId === old.id && cause === 'OUTDATED')).toBeDefined();
  });

  test('a release rolls out under steady load, and no job fails or is repeated', async () => {
    const id = await api.createEndpoint({ workers: { min: 1, max: 3 }, env: { GREETING: 'one' } });
    const seen: Job[] = [];
    let isOver = false;
    const load = Array.from({ length: 3 }, async () => {
      while (!isOver) seen.push(await api.runToEnd(id, { env: 'GREETING', delayMs: 60 }));
    });
    const answers = (greeting: string) =>
      until(`it answers ${greeting}`, async () => {
        return seen.some((job) => (job.output as { env: string } | undefined)?.env === greeting);
      });
    await answers('one');
    await api.patch(id, { env: { GREETING: 'two' } });
    await answers('two');
    await until('the roll-out is over', async () => !(await releases(id)).rollout.inProgress);
    isOver = true;
    await Promise.all(load);
    expect(seen.filter((job) => job.status !== 'COMPLETED' || job.retries)).toEqual([]);
  });

  test('load balancing: requests are held over the gap between the old worker and the new one, and none fails', async () => {
    const id = await api.createEndpoint({
      type: 'LOAD_BALANCING',
      image: 'podyard/web-js:dev',
      workers: { min: 1, max: 3 },
      scaling: { type: 'REQUEST_COUNT', value: 100, idleTimeout: 60 },
      env: { LOADING_MS: '500' },
    });
    await ready(id);
    const web = new WebClient(server, id);
    const load = new WebLoad(web, '/?delayMs=20', 100);
    await load.served(50);
    await api.patch(id, { env: { LOADING_MS: '500', RELEASE: '2' } });
    const replacement = await ready(id, ({ version }) => version === 2);
    await load.served(50);
    const served = await load.end();
    web.close();
    expect(served.filter(({ status }) => status !== 200)).toEqual([]);
    const byOld = served.filter(({ worker }) => worker !== replacement.id);
    expect(byOld.length).toBeGreaterThan(0);
    expect(byOld.length).toBeLessThan(served.length);
    const longest = Math.max(...served.map(({ ms }) => ms));
    console.log(`of ${served.length} requests none failed; the longest was held for ${Math.round(longest)} ms`);
  });

  test('update --wait says what it waits for and ends; with a release that fails it fails, and the old worker stays', async () => {
    const env = { PODYARD_URL: server.url, PODYARD_API_KEY: server.key };
    const id = await api.createEndpoint({ workers: { min: 1, max: 3 } });
    await ready(id);
    const wait = (image: string) => ['endpoints', 'update', id, '--image', image, '--wait'];
    const told = await run(wait('podyard/echo-js:v2'), env);
    expect(told).toMatch(/0 of \d workers run it; (a new worker|old workers)/);
    expect(told).toMatch(/Version 2 is rolled out: 1 of 1 workers run it/);
    const [old] = await api.workers(id);
    const failed = await runToFailure(wait('podyard/no-such-image:v1'), env, 8);
    expect(failed).toMatch(/version 3 failed its trial: .*no-such-image/);
    expect((await api.workers(id)).find((worker) => worker.id === old!.id)).toMatchObject({ status: 'IDLE' });
  });

  test('an image that does not exist fails without ever having a place, while another endpoint keeps the GPU', async () => {
    const busy = await api.createEndpoint({ workers: { min: 1, max: 1 } });
    const holder = await ready(busy);
    const bad = await api.createEndpoint({ image: 'podyard/no-such-image:v1' });
    await api.run(bad, {});
    const failing = await until('it is unhealthy', async () => {
      return (await api.workers(bad)).find(({ status }) => status === 'UNHEALTHY');
    });
    expect(JSON.stringify(failing)).toContain('no-such-image');
    const placed = await server.query("select from workers where endpoint_id = $1 and timeline ? 'capacityAt'", [bad]);
    expect(placed).toEqual([]);
    expect((await api.workers(busy)).map(({ id }) => id)).toEqual([holder.id]);
  });
});
