import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { createCapacitySource, type GpuStock } from './capacity-source.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const entry = (pool: string, total: number): GpuStock => {
  return { pool, gpuTypeId: pool, dataCenterId: 'LOCAL-1', total, free: total };
};

const addWorker = (id: string, phase: string, pool: string, count: number) =>
  database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, gpu_pool, gpu_count, data_center_id)
     values ($1, 'e', 'u', 1, 'demand', $2, '{}', $3, $4, 'LOCAL-1')`,
    [id, phase, pool, count],
  );

function startSource(gpus: GpuStock[]) {
  const state = { now: 1_000, reads: 0, isDown: false };
  const source = createCapacitySource({
    pool: database.pool,
    clock: { now: () => state.now },
    readRuntime: async () => {
      state.reads += 1;
      if (state.isDown) throw new Error('connect ENOENT of the engine');
      return { gpus, cpus: 4, memoryBytes: 8 };
    },
  });
  return { source, state };
}

test('GPUs of live workers are not free, even before their container exists', async () => {
  await addWorker('w1', 'STARTING', 'ADA_24', 2);
  await addWorker('w2', 'RUNNING', 'ADA_24', 1);
  await addWorker('w3', 'EXITED', 'ADA_24', 1);
  await addWorker('w4', 'RUNNING', 'AMPERE_80', 9);
  const { source } = startSource([entry('ADA_24', 4), entry('AMPERE_80', 8), entry('HOPPER_141', 1)]);
  const stock = await source.read();
  expect(stock.gpus.map(({ free }) => free)).toEqual([1, 0, 1]);
  expect(stock).toMatchObject({ cpus: 4, memoryBytes: 8 });
});

test('GPUs of a frozen worker are free, unless it is thawing', async () => {
  await addWorker('f1', 'FROZEN', 'BLACKWELL_96', 1);
  await addWorker('f2', 'FROZEN', 'BLACKWELL_96', 1);
  await database.pool.query("update workers set wanted = 'FREEZE' where id = 'f1'");
  const { source } = startSource([entry('BLACKWELL_96', 2)]);
  expect((await source.read()).gpus.map(({ free }) => free)).toEqual([1]);
});

test('in a pool on several nodes, each GPU in use is subtracted once', async () => {
  const { source } = startSource([entry('ADA_24', 2), entry('ADA_24', 2)]);
  expect((await source.read()).gpus.map(({ free }) => free)).toEqual([0, 1]);
});

test('the runtime is read once in two seconds, for all clients', async () => {
  const { source, state } = startSource([entry('ADA_24', 4)]);
  await Promise.all(Array.from({ length: 50 }, () => source.read()));
  state.now += 1_999;
  await source.read();
  expect(state.reads).toBe(1);
  state.now += 1;
  await source.read();
  expect(state.reads).toBe(2);
  state.now -= 86_400_000; // the clock is set back
  await source.read();
  expect(state.reads).toBe(3);
});

test('a runtime that does not answer is unavailable, without its own error text, and is read again', async () => {
  const { source, state } = startSource([entry('ADA_24', 4)]);
  state.isDown = true;
  await expect(source.read()).rejects.toMatchObject({ kind: 'unavailable', message: 'The runtime does not answer.' });
  state.isDown = false;
  expect((await source.read()).gpus).toHaveLength(1);
});
