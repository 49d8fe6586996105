import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Api, type LogEvent, leaveNothing, until } from './api.ts';
import { type RuntimePlace, ServerProcess, type TestedRuntime } from './server-process.ts';
import { WebClient } from './web-load.ts';

interface WorkerRow {
  id: string;
  phase: string;
  phase_reason: string | null;
}
interface Explained {
  explain: { attempts: { stages: { stage: string }[] }[] };
}
interface Decisions {
  decisions: { reason: string; actions: { kind: string; workerId: string; reason: string }[] }[];
}

/** FlashBoot with real workers and one GPU, so that endpoints preempt each other. */
export function flashbootTests(runtime: TestedRuntime, place: () => RuntimePlace = () => ({})): void {
  let server: ServerProcess;
  let api: Api;
  beforeAll(async () => {
    server = await ServerProcess.start({ runtime, gpus: 'ADA_24:1', ...place() });
    api = new Api(server);
  });
  afterAll(() => server?.dispose());
  afterEach(() => leaveNothing(server, api));

  const rows = (endpointId: string) =>
    server.query<WorkerRow>(
      'select id, phase, phase_reason from workers where endpoint_id = $1 order by created_at, id',
      [endpointId],
    );
  const frozen = (endpointId: string) =>
    until('its worker is frozen', async () => {
      const found = await rows(endpointId);
      return found.length > 0 && found.at(-1)!.phase === 'FROZEN' && found.at(-1)!.id;
    });
  const create = (more: Record<string, unknown> = {}) =>
    api.createEndpoint({ flashboot: 'FLASHBOOT', scaling: { idleTimeout: 0 }, ...more });

  test('an idle worker is frozen and no longer listed; the next job wakes it, also after a restart', async () => {
    const id = await create();
    const first = await api.runToEnd(id, { echo: 1, logLines: 1 });
    expect(await frozen(id)).toBe(first.workerId);
    expect(await server.listWorkloads()).toMatchObject([{ id: first.workerId, state: 'frozen' }]);
    expect(await api.workers(id)).toEqual([]);

    const second = await api.runToEnd(id, { echo: 2, logLines: 1 });
    expect(second).toMatchObject({ status: 'COMPLETED', output: 2, workerId: first.workerId });
    console.log(`${runtime}: a job that woke its worker waited ${second.delayTime} ms`);

    const stagesOf = async (jobId: string) => {
      const { explain } = await api.call<Explained>('GET', `/v2/${id}/status/${jobId}?explain=1`);
      return explain.attempts.flatMap(({ stages }) => stages.map(({ stage }) => stage));
    };
    // A cluster may report a pod as running only after it has taken its job.
    const loading = runtime === 'kubernetes' ? [] : ['ready'];
    expect(await stagesOf(first.id)).toEqual(expect.arrayContaining(['create', 'start', ...loading, 'running']));
    expect(await stagesOf(second.id)).toEqual(expect.arrayContaining(['thaw', 'running']));

    expect(await frozen(id)).toBe(first.workerId);
    await server.kill();
    await server.start();
    const third = await api.runToEnd(id, { echo: 3, logLines: 1 });
    expect(third).toMatchObject({ status: 'COMPLETED', output: 3, workerId: first.workerId });
    expect(await rows(id)).toHaveLength(1);
    const thaws = (events: readonly LogEvent[]) => events.filter(({ line }) => /^thawed in \d+ ms: /.test(line));
    const events = await api.logs(id, first.workerId!, (lines) => thaws(lines).length === 2);
    expect(events.some(({ source, line }) => source === 'system' && line.startsWith('frozen: idle for '))).toBe(true);

    const { decisions } = await api.call<Decisions>('GET', `/v2/serverless/${id}/decisions`);
    const kinds = decisions.flatMap(({ actions }) => actions.map(({ kind }) => kind));
    expect(kinds.toReversed().slice(0, 4)).toEqual(['start', 'freeze', 'thaw', 'freeze']);
  });

  test.skipIf(runtime === 'kubernetes')(
    'two endpoints share one GPU: an idle worker sleeps while the other works',
    async () => {
      const env = { ECHO_SLEEP: 'works' };
      const [one, two] = [
        await create({ env, scaling: { idleTimeout: 60 } }),
        await create({ env, scaling: { idleTimeout: 60 } }),
      ];
      const workers = [];
      for (const id of [one, two, one, two, one]) workers.push((await api.runToEnd(id, { slept: true })).workerId);
      expect(new Set(workers).size).toBe(2);
      expect(await api.runToEnd(two, { slept: true })).toMatchObject({ output: { slept: 2, woke: 2 } });
      const { decisions } = await api.call<Decisions>('GET', `/v2/serverless/${one}/decisions`);
      expect(decisions.flatMap(({ actions }) => actions.map(({ reason }) => reason)).join()).toContain(
        'it sleeps until it has work',
      );
    },
  );

  test.skipIf(runtime === 'kubernetes')(
    'servers with sleep and wake URLs share one GPU, and fail no request',
    async () => {
      const env = { PODYARD_SLEEP_URL: 'http://localhost/sleep', PODYARD_WAKE_URL: 'http://localhost/wake_up' };
      const scaling = { type: 'REQUEST_COUNT', value: 1, idleTimeout: 60 };
      const balanced = { type: 'LOAD_BALANCING', image: 'podyard/web-js:dev', env, scaling };
      const ids = [await create(balanced), await create(balanced)];
      const clients = ids.map((id) => new WebClient(server, id));
      for (let i = 0; i < 5; i++) expect(await clients[i % 2]!.get('/hello')).toMatchObject({ status: 200 });
      for (const client of clients) client.close();
      for (const id of ids) expect(await rows(id)).toHaveLength(1);
    },
  );

  if (runtime !== 'process') return; // the rest depends only on what contract.ts proves of every runtime

  test('a sleeping worker survives kill -9 of the server, and wakes on the GPU that it gets back', async () => {
    const [one, two] = [await create({ env: { ECHO_SLEEP: 'works' } }), await create()];
    const first = await api.runToEnd(one, { echo: 1 });
    await frozen(one);
    const long = await api.run(two, { delayMs: 2_000, echo: 2 });
    await until('the other one has the GPU', async () => (await rows(two)).some(({ phase }) => phase === 'RUNNING'));
    await server.kill();
    await server.start();
    const last = await api.runToEnd(one, { slept: true });
    expect(last).toMatchObject({ output: { slept: 1, woke: 1 }, workerId: first.workerId });
    expect(await api.ended(two, long.id)).toMatchObject({ status: 'COMPLETED', output: 2 });
  });

  test('a lost frozen worker is replaced by a cold start, without a retry of the job', async () => {
    const id = await create();
    const first = await api.runToEnd(id, { echo: 1 });
    await frozen(id);
    await server.loseWorkload(first.workerId!);
    const second = await api.runToEnd(id, { echo: 2 });
    expect(second).toMatchObject({ status: 'COMPLETED', output: 2 });
    expect(second.workerId).not.toBe(first.workerId);
    expect(second.retries ?? 0).toBe(0);
  });

  test('a frozen worker stops after a new release, and when FlashBoot is turned off', async () => {
    const id = await create();
    const first = await api.runToEnd(id, { echo: 1 });
    await frozen(id);
    await api.patch(id, { env: { NEW: 'yes' } });
    await until('the outdated one is gone', async () => (await rows(id))[0]!.phase === 'EXITED');
    const second = await api.runToEnd(id, { env: 'NEW' });
    expect(second).toMatchObject({ output: { env: 'yes' } });
    expect(second.workerId).not.toBe(first.workerId);
    await frozen(id);
    await api.patch(id, { flashboot: 'OFF' });
    await until('nothing is left', async () => (await server.listWorkloads()).length === 0);
    await api.runToEnd(id, { echo: 3 });
    await until('it was stopped, not frozen', async () => (await rows(id)).every(({ phase }) => phase === 'EXITED'));
  });

  test('a frozen worker is preempted for an endpoint with work', async () => {
    const idle = await create();
    const first = await api.runToEnd(idle, { echo: 1 });
    await frozen(idle);
    const busy = await create();
    expect(await api.runToEnd(busy, { echo: 2 })).toMatchObject({ status: 'COMPLETED', output: 2 });
    const [gone] = await rows(idle);
    expect(gone).toMatchObject({ id: first.workerId, phase: 'EXITED' });
    expect(gone!.phase_reason).toMatch(/^its GPUs are needed for endpoint /);
  });
}
