import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { newId } from '../core/ids.ts';
import { silentLogger } from '../core/logger.ts';
import { Bus, type HintTopic } from './bus.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** The bus of one process, with what it heard. Ends with the test. */
async function startBus(...topics: HintTopic[]): Promise<{ bus: Bus; heard: string[] }> {
  const bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: newId(8), logger: silentLogger });
  const heard: string[] = [];
  for (const topic of topics) bus.subscribe(topic, (payload) => heard.push(`${topic} ${payload}`));
  await bus.start();
  onTestFinished(() => bus.stop());
  return { bus, heard };
}

/** Counts the NOTIFY statements that reach the server, by what another connection hears. */
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

test('a hint reaches other processes, once, and does not come back to its own', async () => {
  const one = await startBus('endpoint');
  const two = await startBus('endpoint');
  await expect.poll(() => one.bus.hasPeers).toBe(true);
  one.bus.publish('endpoint', 'e1');
  await expect.poll(() => two.heard).toEqual(['endpoint e1']);
  two.bus.publish('endpoint', 'e2');
  await expect.poll(() => one.heard).toEqual(['endpoint e1', 'endpoint e2']);
  expect(two.heard).toEqual(['endpoint e1', 'endpoint e2']);
});

test('alone, a process sends nothing; as soon as a second one has started, both know of each other', async () => {
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

test('the same hint given many times while one is on its way travels once more, not many times', async () => {
  const one = await startBus();
  const two = await startBus('demand');
  await expect.poll(() => one.bus.hasPeers).toBe(true);
  for (let i = 0; i < 100; i++) one.bus.publish('demand', 'e1');
  one.bus.publish('demand', 'last');
  await expect.poll(() => two.heard.at(-1)).toBe('demand last');
  expect(two.heard.length).toBeLessThanOrEqual(3);
});

test('a process that loses its connection listens again by itself', async () => {
  const one = await startBus();
  const two = await startBus('endpoint');
  await expect.poll(() => one.bus.hasPeers).toBe(true);
  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'podyard bus' and datname = current_database()`,
  );
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

test('a database that cannot be reached loses hints for others, not for oneself, and throws nothing', async () => {
  const warnings: string[] = [];
  const logger = { ...silentLogger, warn: (_: object, message: string) => warnings.push(message) };
  const pool = { query: () => Promise.reject(new Error('down')) } as unknown as TestDatabase['pool'];
  const bus = new Bus({ pool, databaseUrl: database.url, processId: 'p1', logger });
  const heard: string[] = [];
  bus.subscribe('worker', (payload) => heard.push(payload));
  bus.publish('worker', 'w1');
  expect(heard).toEqual(['w1']);
  await expect.poll(() => warnings).toEqual(['hints were lost: down']);
});

test('words of strangers on the channel do no harm', async () => {
  const { bus, heard } = await startBus('endpoint');
  for (const words of [
    '',
    'hello',
    '{}',
    'null',
    '["x"]',
    '["x","error","y"]',
    '["x","endpoint",7]',
    '["x","endpoint","e9"]',
  ]) {
    await database.pool.query('select pg_notify($1, $2)', ['podyard', words]);
  }
  await expect.poll(() => heard).toEqual(['endpoint e9']);
  expect(bus.hasPeers).toBe(false);
});

test('a subscription ends when it is told to', async () => {
  const { bus } = await startBus();
  const heard: string[] = [];
  const unsubscribe = bus.subscribe('key', (payload) => heard.push(payload));
  bus.publish('key', 'k1');
  unsubscribe();
  bus.publish('key', 'k2');
  expect(heard).toEqual(['k1']);
});

test('a process that stopped is forgotten, and one that was killed as well when its time is up', async () => {
  const one = await startBus();
  await one.bus.stop();
  await database.pool.query(`insert into processes values ('killed', now() - interval '31 seconds')`);
  const two = await startBus();
  expect(two.bus.hasPeers).toBe(false);
  const rows = await database.pool.query('select id from processes');
  expect(rows.rows).toEqual([{ id: two.bus.processId }]);
});
