import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BalancedEndpoint } from '../../../../test/balanced-endpoint.ts';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { newId, type WorkerId } from '../../../core/ids.ts';
import { insertWorkers } from '../../../domain/workers/insert-workers.ts';
import { type ControlledWorker, listControlledWorkers } from '../../../domain/workers/worker-lifecycle.ts';
import { WorkerCache } from './worker-cache.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

beforeEach(() => database.pool.query('delete from workers'));

/** Ready workers, three per endpoint. */
async function insert(from: number, to: number): Promise<void> {
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, ready_at)
     select 'w' || n, 'e' || n / 3, 'u', 1, 'test', '{}', 'RUNNING', now() from generate_series($1::int, $2::int - 1) n`,
    [from, to],
  );
}

const exit = (id: string) => database.pool.query("update workers set phase = 'EXITED' where id = $1", [id]);

test('the first resync reads the whole list; later ones read pages, and rows read in between win', async () => {
  await insert(0, 2_500);
  const cache = new WorkerCache(database.pool);
  let now = 1_000_000;
  expect(await cache.resync(now)).toHaveLength(2_500);
  expect(cache.size).toBe(2_500);

  expect(await cache.resync(now + 1)).toEqual([]); // not due
  await insert(2_500, 2_510);
  now = cache.nextResyncAt;
  expect(await cache.resync(now)).toEqual([]); // the first page says nothing about the others
  expect(cache.size).toBe(2_500);
  expect(cache.nextResyncAt).toBeLessThan(now + 1_000);
  await exit('w0');
  await exit('w2400');
  await insert(2_510, 2_511);
  const rereadIds = ['w0', 'w2400', 'w2510'] as WorkerId[];
  await cache.readDirty(now, rereadIds);
  const found: WorkerId[] = [];
  for (let pages = 0; cache.nextResyncAt < now + 10_000; pages++) {
    expect(pages).toBeLessThan(10);
    now = cache.nextResyncAt;
    found.push(...(await cache.resync(now)));
  }
  expect(found.sort()).toEqual(Array.from({ length: 10 }, (_, n) => `w${2_500 + n}`)); // w2510 was in the cache by then
  expect(cache.size).toBe(2_509);
  expect(rereadIds.map((id) => cache.get(id)?.phase)).toEqual([undefined, undefined, 'RUNNING']);
});

test('a first resync finds the workers that have a container, also those that are not ready yet', async () => {
  await insert(0, 4);
  await database.pool.query("update workers set ready_at = null where id = 'w1'");
  await database.pool.query("update workers set phase = 'STARTING', ready_at = null where id = 'w2'");
  await database.pool.query("update workers set phase = 'FROZEN', wanted = 'FREEZE' where id = 'w3'");
  const cache = new WorkerCache(database.pool);
  expect((await cache.resync(0)).sort()).toEqual(['w0', 'w1', 'w3']);
});

test('a row is read once its time has come, and not again after it was read before', async () => {
  await insert(0, 2);
  const cache = new WorkerCache(database.pool);
  await cache.resync(0);
  await cache.readDirty(0, []);
  const [first, second] = ['w0', 'w1'] as [WorkerId, WorkerId];
  cache.markDirtyAt(first, 150);
  cache.markDirtyAt(second, 200);
  expect(cache.nextAt).toBe(150);
  expect(await cache.readDirty(149, [])).toEqual([]);
  expect(await cache.readDirty(150, [])).toMatchObject([{ id: first }]);
  expect(await cache.readDirty(160, [second])).toMatchObject([{ id: second }]);
  expect(await cache.readDirty(200, [])).toEqual([]);
  expect(cache.nextAt).toBe(cache.nextResyncAt);
});

describe('a worker that was just inserted', () => {
  let endpoint: BalancedEndpoint;
  beforeAll(async () => {
    endpoint = await BalancedEndpoint.create();
  });
  afterAll(() => endpoint.close());

  async function insertOne(): Promise<ControlledWorker> {
    const id = newId<WorkerId>();
    const { pool } = endpoint.database;
    return (await insertWorkers(pool, [{ id, endpointId: endpoint.id, reason: 'test', pause: null }]))[0]!;
  }

  test('is handed on as it would be read', async () => {
    const worker = await insertOne();
    expect([worker]).toEqual(await listControlledWorkers(endpoint.database.pool, { ids: [worker.id] }));
    const cache = new WorkerCache(endpoint.database.pool);
    cache.add(worker);
    expect(cache.hasDirty).toBe(true);
    expect(cache.takeFresh()).toEqual([worker]);
    expect(cache.get(worker.id)?.phase).toBe('PENDING');
    expect(cache.takeFresh()).toEqual([]);
    expect(await cache.readDirty(0, [])).toEqual([]);
  });

  test('is read again once a hint has named it, before or after', async () => {
    const { pool } = endpoint.database;
    const cache = new WorkerCache(pool);
    const worker = await insertOne();
    await pool.query("update workers set wanted = 'STOP' where id = $1", [worker.id]);
    cache.add(worker);
    cache.markDirty([worker.id]);
    expect(cache.takeFresh()).toEqual([]);
    expect(await cache.readDirty(0, [])).toMatchObject([{ id: worker.id, wanted: 'STOP' }]);
    cache.markDirty([worker.id]);
    cache.add(worker);
    expect(cache.takeFresh()).toEqual([]);
    expect(await cache.readDirty(0, [])).toMatchObject([{ id: worker.id, wanted: 'STOP' }]);
  });

  test('is not started by a process that has lost track', async () => {
    const cache = new WorkerCache(endpoint.database.pool);
    cache.add(await insertOne());
    cache.reset();
    expect(cache.takeFresh()).toEqual([]);
    expect(await cache.readDirty(0, [])).toEqual([]);
  });
});
