import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { createSimulatedRuntime } from '../../../runtimes/simulated/simulated-runtime.ts';
import { CapacityLedger } from './capacity-ledger.ts';

const place = { pool: 'ADA_24', dataCenterId: 'LOCAL-1' };
let database: TestDatabase;
let ledger: CapacityLedger;
let nowMs = 0;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query('delete from workers');
  const runtime = createSimulatedRuntime({ installation: 'test', gpus: new Map([['ADA_24', 8]]) });
  ledger = new CapacityLedger({ pool: database.pool, runtime, monotonic: { now: () => nowMs } });
});

const writeDown = (id: string, count: number) =>
  database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, gpu_pool, data_center_id, gpu_count)
     values ($1, 'e', 'u', 1, 'test', '{}', 'STARTING', $2, $3, $4)`,
    [id, place.pool, place.dataCenterId, count],
  );
async function free(now: number, options?: { fresh: boolean }): Promise<number> {
  nowMs = now;
  return (await ledger.readFree(options)).reduce((sum, capacity) => sum + capacity.free, 0);
}

test('an allocation counts at once: while promised, once written, and after the table is read again', async () => {
  expect(await free(0)).toBe(8);
  ledger.promise('one', { ...place, count: 3 });
  expect(await free(1)).toBe(5);
  await writeDown('one', 3);
  ledger.settle('one');
  expect(await free(2)).toBe(5);
  expect(await free(3, { fresh: true })).toBe(5);
  ledger.settle('one'); // its end settles it once more
  expect(await free(4)).toBe(5);
});

test('a start written while the table is read may count twice, but never not at all', async () => {
  ledger.promise('one', { ...place, count: 3 });
  const reading = free(0);
  await writeDown('one', 3);
  ledger.settle('one');
  expect(await reading).toBeLessThanOrEqual(5);
  expect(await free(1, { fresh: true })).toBe(5);
});

test('freed GPUs are seen by a fresh read, by a read a second later, and by the read after a failed start', async () => {
  for (const read of [{ now: 1, fresh: true }, { now: 1_000 }, { now: 1, expire: true }]) {
    await writeDown('one', 3);
    expect(await free(0, { fresh: true })).toBe(5);
    await database.pool.query('delete from workers');
    if (read.expire) ledger.expire();
    expect(await free(read.now, { fresh: read.fresh ?? false })).toBe(8);
  }
});

test('a read that is half as old as allowed leads to the next one beside the call, and loses no start meanwhile', async () => {
  expect(await free(0)).toBe(8);
  await writeDown('other', 1); // by nobody who tells the ledger
  ledger.promise('one', { ...place, count: 3 });
  expect(await free(500)).toBe(5); // begins to read ahead
  await writeDown('one', 3);
  ledger.settle('one');
  await expect.poll(() => free(600)).toBeLessThanOrEqual(4);
  expect(await free(1_100)).toBeLessThanOrEqual(4); // still fresh enough
  expect(await free(1_101, { fresh: true })).toBe(4);
});

test('an expected start has the table read once, before it asks, and loses no other start meanwhile', async () => {
  expect(await free(0)).toBe(8);
  const query = vi.spyOn(database.pool, 'query');
  nowMs = 5_000;
  ledger.promise('one', { ...place, count: 3 });
  ledger.expectStart();
  await writeDown('one', 3);
  ledger.settle('one');
  expect(await free(5_001)).toBeLessThanOrEqual(5);
  const reads = query.mock.calls.filter(([statement]) => (statement as { name?: string }).name === 'gpus-in-use');
  expect(reads).toHaveLength(2); // of workers, and of pods
  query.mockRestore();
});

test('an expected start waits for no other read while the last one is fresh', async () => {
  expect(await free(0)).toBe(8);
  nowMs = 600;
  const query = vi.spyOn(database.pool, 'query').mockImplementation(() => new Promise<never>(() => {}));
  ledger.expectStart();
  query.mockRestore();
  expect(await free(601)).toBe(8);
});

test('what other workers hold is known once the table was read, grows at once, and is not known after a failed start', async () => {
  const held = (...except: string[]) => {
    return ledger.heldByOthers(new Set(except))?.reduce((sum, { count }) => sum + count, 0);
  };
  expect(held()).toBeUndefined();
  await writeDown('one', 3);
  await free(0);
  ledger.promise('two', { ...place, count: 1 });
  ledger.promise('three', { ...place, count: 2 });
  expect([held(), held('three')]).toEqual([6, 4]);
  await writeDown('two', 1);
  ledger.settle('two');
  ledger.withdraw('three');
  expect(held('two')).toBe(4);
  ledger.expire();
  expect(held()).toBeUndefined();
});
