import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import type { WebhookSettings } from '../../config/webhook-settings.ts';
import { silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import { JobQueue } from '../../domain/jobs/job-queue.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { WAITING, WebhookDeliverer } from './deliver-webhooks.ts';

let database: TestDatabase;
let deliverer: WebhookDeliverer;
let createDeliverer: (webhooks: WebhookSettings) => WebhookDeliverer;
/** Accepts connections and never answers. */
let dead: Server;
const held = new Set<Socket>();
let alive: ReturnType<typeof createHttpServer>;
/** Answers 200, and then never ends its answer. */
let endless: ReturnType<typeof createHttpServer>;
let endlessEnds = 0;
const arrivals: string[] = [];
/** The live host answers once it is resolved. */
let release: Promise<void> = Promise.resolve();
/** Half of what a delivery to a dead host takes: no other one waited for that. */
const UNDELAYED = { timeout: 5_000 };

beforeAll(async () => {
  dead = createServer((socket) => {
    held.add(socket.resume().on('error', () => {}));
    socket.on('close', () => held.delete(socket));
  });
  alive = createHttpServer((req, res) => {
    arrivals.push(req.url!);
    if (req.url === '/refused') res.statusCode = 503;
    if (req.url?.startsWith('/to?')) res.writeHead(307, { location: decodeURIComponent(req.url.slice(4)) });
    release.then(() => res.end());
  });
  endless = createHttpServer((_, res) => {
    const send = () => {
      while (!res.destroyed && res.write(Buffer.alloc(65_536, 'a')));
    };
    res.on('drain', send).on('close', () => endlessEnds++);
    send();
  });
  await Promise.all([alive, endless].map((server) => once(server.listen(0, '127.0.0.1'), 'listening')));
  await once(dead.listen(0, '0.0.0.0'), 'listening'); // each address of 127.0.0.0/8 is a host of it
  database = await createTestDatabase();
  const { pool, url } = database;
  const limits = { resultRetentionMs: 60_000, syncResultRetentionMs: 60_000 };
  createDeliverer = (webhooks) =>
    new WebhookDeliverer({
      pool,
      bus: new Bus({ pool, databaseUrl: url, processId: 'test', logger: silentLogger }),
      logger: silentLogger,
      queue: new JobQueue({ pool, processId: 'test', limits }),
      tracing: null,
      webhooks: new WebhookPolicy(webhooks),
    });
  deliverer = createDeliverer({ allowPrivate: true, allowed: [] });
});
afterAll(async () => {
  await deliverer.stop();
  for (const socket of held) socket.destroy();
  for (const server of [dead, alive, endless]) server.close();
  await database.drop();
});
beforeEach(async () => {
  await deliverer.stop();
  await database.pool.query('delete from webhook_deliveries');
  arrivals.length = 0;
  await expect.poll(() => held.size).toBe(0);
});

const hostOf = (server: Pick<Server, 'address'>) => `127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Inserts an endpoint of a user; returns its id. */
async function endpointOf(user: string, n: number): Promise<string> {
  const id = `${user}-${n}`;
  await database.pool.query('insert into users (id, name) values ($1, $1) on conflict do nothing', [user]);
  await insertEndpoint(database.pool, { id, user_id: user });
  return id;
}

/** Inserts ended jobs with due webhooks, oldest first. */
async function due(count: number, url: string, endpointId: string): Promise<void> {
  await database.pool.query(
    `with job as (
       insert into finished_jobs (id, endpoint_id, status, low_priority, is_sync, input, ttl_ms, attempt, created_at, finished_at, keep_until)
       select $3 || '-' || gen_random_uuid(), $3, 'COMPLETED', false, false, '1', 60000, 1, now(), now(), now() + interval '1 hour'
       from generate_series(1, $1) returning id
     )
     insert into webhook_deliveries (job_id, endpoint_id, url, next_at)
     select id, $3, $2, now() - interval '1 minute' from job`,
    [count, url, endpointId],
  );
}

test('300 deliveries to a host that never answers delay no other host, not even of the same endpoint', async () => {
  await due(300, `http://${hostOf(dead)}/dead`, 'one');
  await due(20, `http://${hostOf(alive)}/same`, 'one');
  await due(20, `http://${hostOf(alive)}/other`, 'two');
  deliverer.start();
  await expect.poll(() => arrivals.length, UNDELAYED).toBe(40);
  expect(held.size).toBe(10);
});

test('an endpoint that names many dead hosts delays no other endpoint', async () => {
  for (let n = 0; n < 30; n++) await due(10, `http://user${n}@127.0.0.${n + 1}:${port()}/dead`, 'one');
  await due(20, `http://${hostOf(alive)}/other`, 'two');
  deliverer.start();
  await expect.poll(() => arrivals.length, UNDELAYED).toBe(20);
  await expect.poll(() => held.size).toBeGreaterThanOrEqual(20); // connections are accepted a moment after they are made
  expect(held.size).toBe(20);
});

test('of one host, those that have been due longest go first', async () => {
  for (let n = 1; n <= 12; n++) {
    await due(1, `http://${hostOf(alive)}/${n}`, 'one');
    await database.pool.query(
      `update webhook_deliveries set next_at = now() - $1 * interval '1 hour' where url like $2`,
      [n, `%/${n}`],
    );
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  release = promise;
  deliverer.start();
  await expect.poll(() => arrivals.length).toBe(10); // so many go at once
  resolve();
  await expect.poll(() => arrivals.length).toBe(12);
  expect(arrivals.slice(-2).toSorted()).toEqual(['/1', '/2']);
});

test('users, letter case and paths of a URL make no other host of it', async () => {
  await due(100, `http://a@${hostOf(dead)}/`, 'one');
  await due(100, `http://b@${hostOf(dead)}?x`, 'two');
  await due(100, `HTTP://c:d@${hostOf(dead)}/y`, 'three');
  await due(1, `http://${hostOf(alive)}/after`, 'four');
  deliverer.start();
  await expect.poll(() => arrivals).toEqual(['/after']);
  await expect.poll(() => held.size).toBeGreaterThanOrEqual(10); // connections are accepted a moment after they are made
  expect(held.size).toBe(10);
});

test('a user with many endpoints and many receivers that never answer leaves room for others', async () => {
  for (let n = 0; n < 30; n++) await due(20, `http://127.0.0.${n + 1}:${port()}/dead`, await endpointOf('mallory', n));
  await due(40, `http://${hostOf(alive)}/first`, await endpointOf('alice', 0));
  await due(40, `http://localhost:${(alive.address() as AddressInfo).port}/second`, await endpointOf('alice', 1));
  deliverer.start();
  await expect.poll(() => arrivals.length, { timeout: 30_000 }).toBe(80); // theirs alone would take a minute
  expect(held.size).toBeLessThanOrEqual(50);
  expect(held.size).toBeGreaterThanOrEqual(40); // some connections may not be accepted yet
});

test('a receiver that never ends its answer is read no longer than for its status', async () => {
  await due(1, `http://${hostOf(endless)}/endless`, 'endless');
  const results = () =>
    database.pool.query<{ is_delivered: boolean }>(
      "select is_delivered from webhook_results r join finished_jobs f on f.id = r.job_id where f.endpoint_id = 'endless'",
    );
  deliverer.start();
  await expect.poll(() => endlessEnds).toBe(1);
  await expect.poll(async () => (await results()).rows).toEqual([{ is_delivered: true }]);
});

test('how a delivery went is kept with the job, try by try', async () => {
  await due(1, `http://${hostOf(alive)}/kept`, 'kept');
  await due(1, `http://${hostOf(alive)}/refused`, 'refused');
  const find = (endpointId: string) =>
    database.pool.query(
      `select is_delivered, tries from webhook_results r join finished_jobs f on f.id = r.job_id where f.endpoint_id = $1`,
      [endpointId],
    );
  deliverer.start();
  await expect.poll(async () => (await find('kept')).rows).toHaveLength(1);
  expect((await find('kept')).rows[0]).toMatchObject({ is_delivered: true, tries: [{ status: 200, error: null }] });
  for (const tries of [1, 2]) {
    const pending = () =>
      database.pool.query("select tries from webhook_deliveries where endpoint_id = 'refused' and attempt = $1", [
        tries,
      ]);
    await expect.poll(async () => (await pending()).rows).toHaveLength(1);
    expect((await pending()).rows[0].tries).toHaveLength(tries);
    await deliverer.stop();
    await database.pool.query("update webhook_deliveries set next_at = now() where endpoint_id = 'refused'");
    deliverer.start();
  }
  await expect.poll(async () => (await find('refused')).rows).toHaveLength(1);
  const failed = { status: 503, error: 'it was answered with status 503' };
  expect((await find('refused')).rows[0]).toMatchObject({ is_delivered: false, tries: [failed, failed, failed] });
});

test('a delivery that the end of its leader cuts off is no try, and the next leader delivers it', async () => {
  await due(1, `http://${hostOf(dead)}/cut`, 'cut');
  deliverer.start();
  await expect.poll(() => held.size).toBe(1);
  await deliverer.stop();
  const { rows } = await database.pool.query("select tries, attempt from webhook_deliveries where endpoint_id = 'cut'");
  expect(rows).toEqual([{ tries: [], attempt: 0 }]);
  await database.pool.query("update webhook_deliveries set url = $1 where endpoint_id = 'cut'", [
    `http://${hostOf(alive)}/cut`,
  ]);
  deliverer.start();
  await expect.poll(() => arrivals).toEqual(['/cut']);
});

test('an address of this machine is not connected to, whatever names it, unless it is opened; redirects go nowhere', async () => {
  const own = createHttpServer((req, res) => {
    arrivals.push(`own ${req.url}`);
    res.end();
  });
  await once(own.listen(0, '0.0.0.0'), 'listening');
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  const { address } = all.find(({ family, internal }) => family === 'IPv4' && !internal)!;
  const ownPort = (own.address() as AddressInfo).port;
  const [byAddress, byName] = [`http://${address}:${ownPort}/address`, `http://localhost:${ownPort}/name`];
  const tries = async (endpointId: string) =>
    (
      await database.pool.query('select tries from webhook_deliveries where endpoint_id = $1 and attempt = 1', [
        endpointId,
      ])
    ).rows[0]?.tries;
  try {
    // As an earlier version, which allowed them, left them.
    await due(1, byAddress, 'by-address');
    await due(1, byName, 'by-name');
    await due(1, `http://${hostOf(alive)}/to?${encodeURIComponent(byAddress)}`, 'redirected');
    const opened = { network: '127.0.0.1', port: (alive.address() as AddressInfo).port };
    const strict = createDeliverer({ allowPrivate: false, allowed: [opened] });
    strict.start();
    const refused = { status: null, error: expect.stringContaining("is an address of the server's own machine") };
    await expect.poll(() => tries('by-address')).toMatchObject([refused]);
    await expect.poll(() => tries('by-name')).toMatchObject([refused]);
    await expect.poll(() => tries('redirected')).toMatchObject([{ status: 307 }]);
    await strict.stop();
    expect(arrivals).toEqual([expect.stringMatching('^/to')]);
    await database.pool.query('update webhook_deliveries set next_at = now()');
    const open = createDeliverer({ allowPrivate: false, allowed: [{ network: address, port: null }] });
    open.start();
    await expect.poll(() => arrivals).toContain('own /address');
    await open.stop();
    expect(arrivals).not.toContain('own /name');
  } finally {
    own.close();
  }
});

const port = () => (dead.address() as AddressInfo).port;

test('a long queue of a receiver that has its share is passed over without being read', async () => {
  await due(5_000, 'http://dead.example/dead', 'one');
  await due(20, `http://${hostOf(alive)}/other`, 'two');
  await database.pool.query('analyze webhook_deliveries'); // else the plan depends on when autovacuum came by
  for (const [hosts, endpoints, users] of [
    [['dead.example'], [], []],
    [[], ['one'], []],
    [[], [], ['one']],
    [[], [], []],
  ]) {
    const values = [[], hosts, endpoints, users, 90];
    const { rows } = await database.pool.query(`explain (analyze, format json) ${WAITING}`, values);
    expect(mostRows(rows[0]['QUERY PLAN'][0].Plan)).toBeLessThan(200);
  }
  await database.pool.query('delete from finished_jobs');
});

interface PlanNode {
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** Returns the most rows that a step of a plan read. */
function mostRows(node: PlanNode): number {
  const own = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
  return Math.max(own, ...(node.Plans ?? []).map(mostRows));
}
