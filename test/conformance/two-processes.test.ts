/** Several processes share endpoints without affinity: it makes no difference which of them a client or worker reaches. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, type MockInstance, onTestFinished, test, vi } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import type { EndpointId } from '../../src/core/ids.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { JobWaiters } from '../../src/dataplane/job-waiters.ts';
import { Matchmaker } from '../../src/dataplane/matchmaker.ts';
import { StopPolls } from '../../src/dataplane/worker-api/stop-polls.ts';
import { startServer } from '../../src/server.ts';
import { createTestDatabase } from '../database.ts';
import { fairMs } from '../fair-ms.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';
import { SecondProcess } from '../second-process.ts';

let plane: QueuePlaneFixture;
let second: SecondProcess;
let endpointId: EndpointId;
/** The same worker, connected to the first process and to the second. */
let here: FakeWorker;
let there: FakeWorker;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start({ takeHoldMs: 20_000 });
  second = await SecondProcess.start(plane);
  endpointId = await plane.endpoint(1);
  here = await plane.worker(endpointId);
  there = second.worker(endpointId, here.id);
});
afterAll(async () => {
  await second?.stop();
  await plane?.close();
});

/** The methods that hold requests. Both servers run in this process, so the spies see both. */
const heldTakes = vi.spyOn(Matchmaker.prototype, 'take');
const heldReads = vi.spyOn(JobWaiters.prototype, 'wait');
const heldStops = vi.spyOn(StopPolls.prototype, 'add');
afterAll(() => vi.restoreAllMocks());

/** Sends requests and resolves once `count` more are held. Returns a function, because `await` would wait for a promise. */
async function held<T>(place: MockInstance, request: () => Promise<T>, count = 1): Promise<() => Promise<T>> {
  const goal = place.mock.calls.length + count;
  const answer = request();
  await until(
    () => place.mock.calls.length,
    (calls) => calls >= goal,
  );
  return () => answer;
}

/** docs/interface/queue.md, "Several processes", "Waiting", "Streams" and "Cancel, retry and purge" */
describe('jobs', () => {
  test('a job submitted at one reaches a worker waiting at the other, far sooner than the next poll', async () => {
    const times: number[] = [];
    for (let i = 0; i < 9; i++) {
      const take = await held(heldTakes, () => there.take());
      let id = '';
      times.push(
        await fairMs(async () => {
          id = await plane.run(endpointId, { n: i });
          await take();
        }),
      );
      const { body } = await take();
      expect(body).toEqual({ id, input: { n: i } });
      expect((await there.done(id, '{"output":1}')).status).toBe(200);
    }
    expect(times.sort((a, b) => a - b)[4]).toBeLessThan(500);
  });

  test('a burst at one reaches all workers waiting at the other', async () => {
    const many = await plane.endpoint(12);
    const workers: FakeWorker[] = [];
    while (workers.length < 12)
      workers.push(
        await plane.worker(
          many,
          workers.map(({ id }) => id),
        ),
      );
    const takes = await held(
      heldTakes,
      () => Promise.all(workers.map(({ id }) => second.worker(many, id).take())),
      workers.length,
    );
    let inputs: number[] = [];
    const tookMs = await fairMs(async () => {
      await Promise.all(workers.map((_, i) => plane.run(many, i)));
      inputs = (await takes()).map(({ body }) => body.input);
    });
    expect(tookMs).toBeLessThan(3_000); // the next poll comes after 5 s
    expect(inputs.sort((a, b) => a - b)).toEqual(workers.map((_, i) => i));
  });

  test('runsync at one is answered when the worker finishes at the other', async () => {
    const [answer] = await Promise.all([
      plane.call('POST', `${endpointId}/runsync`, { body: { input: 1 } }),
      there.work('{"output":"done"}'),
    ]);
    expect(answer.body).toMatchObject({ status: 'COMPLETED', output: 'done' });
  });

  test('status-sync is answered at both, wherever the job ends', async () => {
    const id = await plane.run(endpointId);
    const held = [
      plane.call('GET', `${endpointId}/status-sync/${id}?wait=20000`),
      second.call('GET', `${endpointId}/status-sync/${id}?wait=20000`),
    ];
    await until(
      () => plane.sql('select waiter from jobs where id = $1', id),
      ([job]) => job.waiter?.split(' ').length === 2,
    );
    await here.work('{"output":7}');
    for (const answer of await Promise.all(held)) expect(answer.body).toMatchObject({ status: 'COMPLETED', output: 7 });
  });

  test('chunks streamed to one are read at the other, one by one', async () => {
    const id = await plane.run(endpointId);
    await there.take();
    for (const n of [1, 2]) {
      const chunk = await held(heldReads, () => plane.call('GET', `${endpointId}/stream/${id}?wait=20000`));
      await there.chunk(id, `{"output":${n}}`);
      expect((await chunk()).body).toEqual({ status: 'IN_PROGRESS', stream: [{ output: n }] });
    }
    const end = await held(heldReads, () => plane.call('GET', `${endpointId}/stream/${id}?wait=20000`));
    await there.done(id, '{"output":[]}', true);
    expect((await end()).body).toEqual({ status: 'COMPLETED', stream: [] });
  });

  test('a job cancelled at one stops in the worker that polls at the other', async () => {
    const id = await plane.run(endpointId);
    await there.take();
    const order = await held(heldStops, () => there.stopOrders());
    expect((await plane.call('POST', `${endpointId}/cancel/${id}`)).body.status).toBe('CANCELLED');
    expect((await order()).body).toEqual({ jobsToStop: [id] });
  });

  test('a job taken at one can be finished at the other, and counts once, however often it is finished', async () => {
    const before = (await plane.call('GET', `${endpointId}/health`)).body.jobs.completed;
    const id = await plane.run(endpointId);
    await here.take();
    const done = await Promise.all([
      there.done(id, '{"output":1}'),
      here.done(id, '{"output":2}'),
      there.done(id, '{"output":3}'),
    ]);
    expect(done.map(({ status }) => status)).toEqual([200, 200, 200]);
    const job = await second.call('GET', `${endpointId}/status/${id}`);
    expect((await plane.status(endpointId, id)).output).toBe(job.body.output);
    expect((await second.call('GET', `${endpointId}/health`)).body.jobs.completed).toBe(before + 1);
  });

  test('a job that ended while a process missed hints is reported once it listens again', async () => {
    const answer = plane.call('POST', `${endpointId}/runsync?wait=60000`, { body: { input: 1 } });
    const { body } = await there.take();
    await plane.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = 'podyard bus' and datname = current_database()`,
    );
    const tookMs = await fairMs(async () => {
      await there.done(body.id, '{"output":"unheard"}');
      expect((await answer).body.output).toBe('unheard');
    });
    expect(tookMs).toBeLessThan(5_000); // the next poll comes after 10 s
  });
});

/** docs/interface/queue.md, "Several processes" and "Held requests" */
describe('requests', () => {
  const lbEndpoint = (env: Record<string, string> = {}) =>
    plane.endpoint(1, {
      type: 'LOAD_BALANCING',
      env,
      scaling: { type: 'REQUEST_COUNT', value: 100, idleTimeoutSeconds: 60 },
    });

  /** Starts a slow server that records its maximum number of concurrent requests. */
  async function serve(id: EndpointId): Promise<{ most: () => number }> {
    let [now, most] = [0, 0];
    const server = createServer((_req, res) => {
      now += 1;
      most = Math.max(most, now);
      setTimeout(() => {
        now -= 1;
        res.end('ok');
      }, 30);
    });
    onTestFinished(() => void server.close(() => {}).closeAllConnections());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const [row] = await until(
      () => plane.sql("select id from workers where endpoint_id = $1 and phase = 'RUNNING'", id),
      (rows) => rows.length > 0,
    );
    await plane.sql(
      `update workers set http_port = null, serving_at = now(), ready_at = now(), serving_host = '127.0.0.1',
         serving_port = $2 where id = $1`,
      row.id,
      port,
    );
    await plane.hint('worker', row.id);
    return { most: () => most };
  }

  test('that wait are counted together, at whichever process', async () => {
    const id = await lbEndpoint();
    const held = [
      ...[1, 2].map(() => plane.call('GET', `${id}/lb/x`)),
      ...[1, 2, 3].map(() => second.call('GET', `${id}/lb/x`)),
    ];
    const [demand] = await until(
      () =>
        plane.sql(
          'select sum(held)::int as held, count(*)::int as rows from request_demand where endpoint_id = $1',
          id,
        ),
      ([row]) => row.held === 5,
    );
    expect(demand).toEqual({ held: 5, rows: 2 });
    await serve(id);
    for (const answer of await Promise.all(held)) expect(answer.status).toBe(200);
    await until(
      () => plane.sql('select sum(held + in_flight)::int as left from request_demand where endpoint_id = $1', id),
      ([row]) => row.left === 0,
    );
  });

  test('share a worker: together they send it as many at once as it accepts, and both get served', async () => {
    const id = await lbEndpoint({ PODYARD_LB_CONCURRENCY: '4' });
    const { most } = await serve(id);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        i % 2 === 0 ? plane.call('GET', `${id}/lb/`) : second.call('GET', `${id}/lb/`),
      ),
    );
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect(most()).toBe(4);
  });
});

/** docs/interface/rest.md, "Rate limits" */
describe('limits', () => {
  test('on requests are exact across processes', async () => {
    const user = await plane.stranger();
    await plane.sql('update users set rate_limit_day = 25 where id = $1', user);
    const authorization = `Bearer ${await plane.keyFor(user, 'all')}`;
    const answers = await Promise.all(
      Array.from({ length: 80 }, (_, i) =>
        i % 2 === 0
          ? plane.call('GET', 'templates', { authorization })
          : second.call('GET', 'templates', undefined, authorization),
      ),
    );
    const passed = answers.filter(({ status }) => status === 200);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(80 - passed.length);
    expect(passed).toHaveLength(25);
  });
});

/** docs/interface/queue.md, "Several processes" */
test('several processes that start at once on an empty database all succeed, with one installation and one first user', async () => {
  const database = await createTestDatabase({ isEmpty: true });
  onTestFinished(() => database.drop());
  const config = readConfig(
    { port: '0', databaseUrl: database.url, runtime: 'simulated' },
    { PODYARD_MASTER_KEY: 'ab'.repeat(32) },
  );
  const servers = await Promise.all(Array.from({ length: 5 }, () => startServer(config, silentLogger, () => {})));
  try {
    expect(servers.filter(({ newKey }) => newKey !== null)).toHaveLength(1);
    const { rows } = await database.pool.query(
      `select (select count(*)::int from users) as users, (select count(*)::int from processes) as processes,
              (select count(*)::int from pg_locks where locktype = 'advisory' and objid = 7063927 and granted
                 and database = (select oid from pg_database where datname = current_database())) as leaders`,
    );
    expect(rows).toEqual([{ users: 1, processes: 5, leaders: 1 }]);
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
});
