import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until, type Worker } from './api.ts';
import { type RuntimePlace, ServerProcess, type TestedRuntime } from './server-process.ts';
import { type WebAnswer, WebClient, WebLoad } from './web-load.ts';

/** Load-balancing endpoints with real workers. */
export function loadBalancingTests(runtime: TestedRuntime, place: () => RuntimePlace = () => ({})): void {
  let database: TestDatabase;
  let server: ServerProcess;
  let api: Api;
  const clients: WebClient[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    server = await ServerProcess.start({ runtime, gpus: 'ADA_24:8', databaseUrl: database.url, ...place() });
    api = new Api(server);
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await server?.dispose();
    await database?.drop();
  });

  const create = async (more: Record<string, unknown> = {}): Promise<{ id: string; web: WebClient }> => {
    const id = await api.createEndpoint({
      type: 'LOAD_BALANCING',
      image: 'podyard/web-js:dev',
      scaling: { type: 'REQUEST_COUNT', value: 100, idleTimeout: 60 },
      ...more,
    });
    const web = new WebClient(server, id);
    clients.push(web);
    return { id, web };
  };
  const workersReady = (id: string, count: number, isRight: (worker: Worker) => boolean = () => true) =>
    until(`${count} workers are ready`, async () => {
      const workers = await api.workers(id);
      const ready = workers.filter((worker) => /RUNNING|IDLE/.test(worker.status) && isRight(worker));
      return ready.length >= count && workers;
    });
  const failures = (answers: readonly WebAnswer[]) => answers.filter(({ status }) => status !== 200);

  test('a request starts a worker from zero, which stops again when idle', async () => {
    const { id, web } = await create({ env: { LOADING_MS: '300' }, scaling: { idleTimeout: 1 } });
    const first = await web.get('/hello?a=1');
    expect(first).toMatchObject({ status: 200 });
    expect(JSON.parse(first.text)).toMatchObject({ path: '/hello?a=1', worker: first.worker });
    console.log(
      `${runtime}: the first request to an endpoint at zero, with 300 ms of loading, took ${Math.round(first.ms)} ms`,
    );
    const [worker] = await api.workers(id);
    expect(worker).toMatchObject({ id: first.worker, status: expect.stringMatching(/IDLE|RUNNING/) });
    await api.logs(id, worker!.id, (events) =>
      ['listening on port', 'ready,'].every((text) => events.some(({ line }) => line.includes(text))),
    );
    await until('it leaves', async () => (await api.workers(id)).length === 0);
  });

  // A worker parked on a cluster keeps running but must get no request.
  if (runtime !== 'docker') {
    test('with FlashBoot an idle worker is frozen and gets no request until the next one wakes it', async () => {
      const { web } = await create({ flashboot: 'FLASHBOOT', scaling: { idleTimeout: 0 }, workers: { max: 1 } });
      const first = await web.get('/');
      expect(first.status).toBe(200);
      const frozen = async () =>
        (await server.query<{ phase: string }>('select phase from workers where id = $1', [first.worker]))[0]!.phase;
      await until('it is frozen', async () => (await frozen()) === 'FROZEN');
      const second = await web.get('/');
      expect(second).toMatchObject({ status: 200, worker: first.worker });
      console.log(`${runtime}: a request that woke a frozen worker took ${Math.round(second.ms)} ms`);
    });
  }

  // The address of a killed container does not exist any more, so connections fail in a different way.
  if (runtime !== 'kubernetes') {
    test('a worker killed under load fails its requests in flight with 502; all others are served', async () => {
      const { id, web } = await create({ workers: { min: 2, max: 2 } });
      const [victim] = await workersReady(id, 2);
      const load = new WebLoad(web, '/?delayMs=50', 200);
      await load.served(100);
      await server.loseWorkload(victim!.id);
      await workersReady(id, 2, (worker) => worker.id !== victim!.id);
      await load.served(50);
      const answers = await load.end();
      const failed = failures(answers);
      expect(failed.every(({ status }) => status === 502)).toBe(true);
      // About ten were in flight there; sending to a dead worker again and again would fail hundreds.
      expect(failed.length).toBeLessThan(60);
      console.log(`${runtime}: of ${answers.length} requests ${failed.length} failed with the worker that was killed`);
    });
  }

  if (runtime !== 'process') return; // the rest depends only on what contract.ts proves of every runtime

  test('server-sent events arrive one by one, and a WebSocket stays open', async () => {
    const { id, web } = await create({ workers: { min: 1, max: 1 } });
    expect((await web.get('/')).status).toBe(200);
    await until('three events arrive one by one', async () => {
      const times = await eventTimes(`${server.url}/v2/${id}/lb/events?count=3&delayMs=300`, server.key);
      expect(times).toHaveLength(3);
      return times[2]! - times[0]! > 400; // a machine with other work may hand over several at once, for a moment
    });

    // Node.js also accepts headers, which the types of browsers lack.
    const options = { headers: { authorization: `Bearer ${server.key}` } } as unknown as string[];
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v2/${id}/lb/socket`, options);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error('the WebSocket could not be opened'));
    });
    await until('it is busy', async () => (await api.workers(id))[0]!.status === 'RUNNING');
    const echoed = new Promise((resolve) => {
      socket.onmessage = ({ data }) => resolve(data);
    });
    socket.send('hello');
    expect(await echoed).toBe('hello');
    socket.close();
    await until('it is idle', async () => (await api.workers(id))[0]!.status === 'IDLE');
  });

  test('a release rolls out under 300 requests a second without a failed request', async () => {
    const { id, web } = await create({ workers: { min: 2, max: 4 }, env: { VERSION: 'one' } });
    await workersReady(id, 2);
    const load = new WebLoad(web, '/?delayMs=20', 300);
    await load.served(150);
    await api.patch(id, { image: 'podyard/web-js:v2', env: { VERSION: 'two' } });
    await until('only new workers are left', async () => {
      const workers = await api.workers(id);
      return workers.length >= 2 && workers.every(({ isStale, status }) => !isStale && /RUNNING|IDLE/.test(status));
    });
    await load.served(150);
    const answers = await load.end();
    expect(failures(answers)).toEqual([]);
    expect(JSON.parse(answers[0]!.text).version).toBe('one');
    expect(JSON.parse(answers.at(-1)!.text).version).toBe('two');
    console.log(`${runtime}: ${answers.length} requests through a roll-out, none failed`);
  });
}

/** Returns when each event arrived. */
function eventTimes(url: string, key: string): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const times: number[] = [];
    request(url, { headers: { authorization: `Bearer ${key}` } }, (res) => {
      res.on('data', (chunk) => {
        for (const _ of String(chunk).matchAll(/^data:/gm)) times.push(performance.now());
      });
      res.on('end', () => resolve(times));
    })
      .on('error', reject)
      .end();
  });
}
