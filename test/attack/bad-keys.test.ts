/** Guessing keys and worker tokens (docs/guide/security.md, "Keys"). */
import type { PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EndpointId } from '../../src/core/ids.ts';
import type { FakeWorker } from '../fake-worker.ts';
import { QueuePlaneFixture, until } from '../queue-plane.ts';

let plane: QueuePlaneFixture;
let endpoint: EndpointId;
beforeAll(async () => {
  plane = await QueuePlaneFixture.start();
  endpoint = await plane.endpoint(0);
});
afterAll(() => plane.close());

let guess = 0;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test.each([
  ['REST', () => 'serverless'],
  ['the queue plane', () => `${endpoint}/health`],
])('many unknown keys at once are refused by %s with 429, and valid ones are served meanwhile', async (_, path) => {
  await sleep(1_100); // the address may have guessed before
  expect((await plane.call('GET', path())).status).toBe(200);
  const answers = await Promise.all(
    Array.from({ length: 400 }, () => plane.call('GET', path(), { authorization: `Bearer pyk_guess${guess++}` })),
  );
  const refused = answers.filter(({ status }) => status === 429);
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(400 - refused.length);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers } of refused) expect(headers.get('retry-after')).toBe('1');
  expect((await plane.call('GET', path())).status).toBe(200);
  await sleep(1_100);
  const fresh = await plane.keyFor(plane.userId, 'all');
  expect((await plane.call('GET', path(), { authorization: `Bearer ${fresh}` })).status).toBe(200);
});

/** While it runs, each query about the table waits. */
async function whileLocked<T>(table: string, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await plane.database.pool.connect();
  try {
    await client.query(`begin; lock table ${table} in access exclusive mode`);
    return await work(client);
  } finally {
    await client.query('rollback');
    client.release();
  }
}

test('many valid keys of one address that this process has not seen are all served, though not at once', async () => {
  await sleep(1_100);
  const keys = await Promise.all(Array.from({ length: 300 }, () => plane.keyFor(plane.userId, 'all')));
  const calls = await whileLocked('api_keys', async () => {
    const calls = keys.map((key) => plane.call('GET', `${endpoint}/health`, { authorization: `Bearer ${key}` }));
    await Promise.race([...calls, sleep(500)]); // a refusal would come at once
    return calls;
  });
  const answers = await Promise.all(calls);
  expect(answers.map(({ status }) => status)).toEqual(Array(300).fill(200));
});

describe('the worker API', () => {
  let worker: FakeWorker;
  beforeAll(async () => {
    worker = await plane.worker(await plane.endpoint(1));
  });
  const take = (workerId: string, token: string) =>
    worker.call('GET', `job-take/${workerId}?job_in_progress=1`, { token });

  test('refuses what cannot be a token, and wrong tokens of known workers, without asking the database', async () => {
    const guesses = () =>
      Promise.all([
        take('nobody', ''),
        take('nobody', 'x'),
        take('nobody', 'Bearer pyk_x'),
        take(worker.id, 'pyw_wrong'),
      ]);
    // A late hint about the worker's start has its row read again, which waits for the lock: then once more.
    const answers = await until(
      () => whileLocked('workers', () => Promise.race([guesses(), sleep(2_000).then(() => null)])),
      (found) => found !== null,
    );
    expect(answers!.map(({ status }) => status)).toEqual([401, 401, 401, 401]);
  });

  test('asks the database about few of many unknown workers, and serves the known ones meanwhile', async () => {
    const all = await whileLocked('workers', async (client) => {
      const taken = Array.from({ length: 300 }, (_, i) => take(`nobody${i}`, 'pyw_guess'));
      await until(
        async () => (await client.query('select from pg_locks where not granted')).rowCount,
        (waiting) => waiting !== 0,
      );
      return taken;
    });
    const statuses = (await Promise.all(all)).map(({ status }) => status);
    const asked = statuses.filter((status) => status === 401).length;
    expect(asked).toBeGreaterThanOrEqual(20);
    expect(asked).toBeLessThan(120); // a hundred at once, and one after each of the first that found nothing
    expect(statuses.filter((status) => status === 503)).toHaveLength(300 - asked);
    const [known] = await Promise.all([
      worker.ping(),
      ...Array.from({ length: 100 }, (_, i) => take(`noone${i}`, 'pyw_guess')),
    ]);
    expect(known.status).toBe(200);
  });
});
