import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { newId } from '../core/ids.ts';
import { silentLogger } from '../core/logger.ts';
import { Bus } from './bus.ts';
import type { HintTopic } from './hints.ts';
import type { ProcessRole } from './process-registry.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Starts the bus of one process; `heard` collects its hints. Ends with the test. */
async function startBus(...topics: HintTopic[]): Promise<{ bus: Bus; heard: string[] }> {
  const bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: newId(8), logger: silentLogger });
  const heard: string[] = [];
  for (const topic of topics) bus.subscribe(topic, (payload) => heard.push(`${topic} ${payload}`));
  await bus.start();
  onTestFinished(() => bus.stop());
  return { bus, heard };
}

/** Starts the bus of a process with these roles. */
async function startRole(...roles: ProcessRole[]): Promise<Bus> {
  const { pool, url: databaseUrl } = database;
  const bus = new Bus({ pool, databaseUrl, processId: newId(8), roles, logger: silentLogger });
  await bus.start();
  onTestFinished(() => bus.stop());
  return bus;
}

async function cutBuses(): Promise<void> {
  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'podyard bus' and datname = current_database()`,
  );
}

/** Collects every notification that reaches the server, on a connection of its own. */
async function spy(): Promise<string[]> {
  const client = await database.pool.connect();
  const messages: string[] = [];
  client.on('notification', (message) => messages.push(message.payload ?? ''));
  await client.query('listen podyard');
  onTestFinished(async () => {
    await client.query('unlisten podyard');
    client.removeAllListeners('notification');
    client.release();
  });
  return messages;
}

test('a hint reaches the listeners of its own process at once, and only those of its topic', async () => {
  const { bus, heard } = await startBus('endpoint', 'log');
  bus.publish('endpoint', 'e1');
  expect(heard).toEqual(['endpoint e1']);
});

test('a hint reaches other processes once and does not come back to its own', async () => {
  const one = await startBus('endpoint');
  const two = await startBus('endpoint');
  await expect.poll(() => one.bus.hasPeers).toBe(true);
  one.bus.publish('endpoint', 'e1');
  await expect.poll(() => two.heard).toEqual(['endpoint e1']);
  two.bus.publish('endpoint', 'e2');
  await expect.poll(() => one.heard).toEqual(['endpoint e1', 'endpoint e2']);
  expect(two.heard).toEqual(['endpoint e1', 'endpoint e2']);
});

test('a process alone sends nothing; once a second one has started, both know of each other', async () => {
  const messages = await spy();
  const one = await startBus();
  expect(one.bus.hasPeers).toBe(false);
  messages.length = 0;
  one.bus.publish('endpoint', 'e1');
  const two = await startBus();
  expect(two.bus.hasPeers).toBe(true);
  await expect.poll(() => one.bus.hasPeers).toBe(true);
  await expect.poll(() => messages.length).toBeGreaterThan(0);
  expect(new Set(messages.map((message) => JSON.parse(message)[1]))).toEqual(new Set(['process']));
});

test('a hint repeated while a NOTIFY is in flight is sent once more, not many times', async () => {
  const one = await startBus();
  const two = await startBus('demand');
  await expect.poll(() => one.bus.hasPeers).toBe(true);
  for (let i = 0; i < 100; i++) one.bus.publish('demand', 'e1');
  one.bus.publish('demand', 'last');
  await expect.poll(() => two.heard.at(-1)).toBe('demand last');
  expect(two.heard.length).toBeLessThanOrEqual(3);
});

test('a process that loses its connection reconnects', async () => {
  const one = await startBus();
  const two = await startBus('endpoint');
  await expect.poll(() => one.bus.hasPeers).toBe(true);
  await cutBuses();
  await expect
    .poll(
      () => {
        one.bus.publish('endpoint', 'e1');
        return two.heard.length;
      },
      { timeout: 5000 },
    )
    .toBeGreaterThan(0);
});

test('while the database is unreachable, hints for other processes wait and local ones do not; one warning is logged', async () => {
  const messages = await spy();
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message: string) => warnings.push(message) };
  let tries = 0;
  const query: TestDatabase['pool']['query'] = (...args: unknown[]) =>
    ++tries <= 3 ? Promise.reject(new Error('down')) : (database.pool.query as CallableFunction)(...args);
  const pool = { query } as unknown as TestDatabase['pool'];
  const bus = new Bus({ pool, databaseUrl: database.url, processId: 'p1', logger });
  const heard: string[] = [];
  bus.subscribe('worker', (payload) => heard.push(payload));
  bus.publish('worker', 'w1');
  expect(heard).toEqual(['w1']);
  await expect.poll(() => messages, { timeout: 3_000 }).toEqual(['["p1","worker","w1"]']);
  expect(warnings).toEqual(['hints could not be sent yet: down']);
});

test('after a lost connection, listeners are notified that they may have missed hints', async () => {
  const { bus } = await startBus();
  const gap = new Promise<void>((resolve) => bus.onGap(resolve));
  await cutBuses();
  await gap;
  const [row] = (
    await database.pool.query('select count(*)::int as n from pg_stat_activity where query like $1', [
      'listen podyard%',
    ])
  ).rows;
  expect(row.n).toBeGreaterThan(0);
});

test('a process knows the roles of the others, and which of them share the data plane', async () => {
  const data = await startBus();
  const [two, three] = [await startRole('data'), await startRole('data')];
  const control = await startRole('control');
  const known = [two.processId, three.processId].sort();
  for (const one of [control, two]) await expect.poll(() => one.dataProcessIds).toEqual(known);
  await expect.poll(() => data.bus.hasDataPeers).toBe(true);
  await three.stop();
  await expect.poll(() => control.dataProcessIds).toEqual([two.processId]);
  await expect.poll(() => two.hasDataPeers).toBe(false);
  expect(two.hasPeers).toBe(true);
});

test('hints for the data plane are not sent while no other process serves it', async () => {
  const messages = await spy();
  const data = await startRole('data');
  const control = await startRole('control');
  await expect.poll(() => data.hasPeers).toBe(true);
  messages.length = 0;
  data.publish('queued', 'e1');
  data.publish('job', 'p1 j1');
  data.publish('demand', 'e1');
  await expect.poll(() => messages.length).toBeGreaterThan(0);
  expect(messages).toEqual([JSON.stringify([data.processId, 'demand', 'e1'])]);
  control.publish('queued', 'e2');
  await expect.poll(() => messages.at(-1)).toContain('e2');
});

test('hints of demand in quick succession are sent together; an urgent one takes them along at once', async () => {
  const messages = await spy();
  const one = await startRole('data');
  await startRole('data');
  await expect.poll(() => one.hasDataPeers).toBe(true);
  messages.length = 0;
  const sentAt = performance.now();
  one.publish('demand', 'e1');
  await expect.poll(() => messages.length).toBe(1);
  one.publish('demand', 'e2');
  one.publish('queued', 'e2');
  await expect.poll(() => messages.length).toBe(3);
  for (let i = 0; i < 20 || performance.now() - sentAt < 100; i++) {
    one.publish('demand', `e${i % 3}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await expect.poll(() => messages.length).toBeLessThan(60);
});

test('foreign messages on the channel are ignored', async () => {
  const { bus, heard } = await startBus('endpoint');
  for (const text of [
    '',
    'hello',
    '{}',
    'null',
    '["x"]',
    '["x","error","y"]',
    '["x","endpoint",7]',
    '["x","endpoint","e9"]',
  ]) {
    await database.pool.query('select pg_notify($1, $2)', ['podyard', text]);
  }
  await expect.poll(() => heard).toEqual(['endpoint e9']);
  expect(bus.hasPeers).toBe(false);
});

test('a subscription ends when it is cancelled', async () => {
  const { bus } = await startBus();
  const heard: string[] = [];
  const unsubscribe = bus.subscribe('key', (payload) => heard.push(payload));
  bus.publish('key', 'k1');
  unsubscribe();
  bus.publish('key', 'k2');
  expect(heard).toEqual(['k1']);
});

test('a process that stopped is forgotten at once, and a killed one when its heartbeat times out', async () => {
  const one = await startBus();
  await one.bus.stop();
  await database.pool.query(`insert into processes values ('killed', now() - interval '31 seconds')`);
  const two = await startBus();
  expect(two.bus.hasPeers).toBe(false);
  const rows = await database.pool.query('select id from processes');
  expect(rows.rows).toEqual([{ id: two.bus.processId }]);
});
