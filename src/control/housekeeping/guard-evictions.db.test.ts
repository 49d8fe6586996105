import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { silentLogger } from '../../core/logger.ts';
import type { EvictionGuard } from '../../runtimes/runtime.ts';
import { evictionGuardLoop } from './guard-evictions.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("insert into users (id, name) values ('u', 'u')");
});
afterAll(() => database.drop());

const setEndpoint = async (id: string, min: number, max = 9) => {
  await database.pool.query('delete from endpoints where id = $1', [id]);
  await insertEndpoint(database.pool, { id, user_id: 'u', workers_min: min, workers_max: max });
};

test('endpoints that always have two workers or more keep half of them; others are released', async () => {
  const kept = new Map<string, number>();
  const changes: string[] = [];
  const guard: EvictionGuard = {
    list: async () => kept,
    keep: async (id, workers) => {
      kept.set(id, workers);
      changes.push(`${id} ${workers}`);
    },
    release: async (id) => {
      kept.delete(id);
    },
  };
  const keeper = evictionGuardLoop({ pool: database.pool, logger: silentLogger, guard });
  for (const [id, min] of [
    ['none', 0],
    ['one', 1],
    ['two', 2],
    ['five', 5],
  ] as const)
    await setEndpoint(id, min);
  await setEndpoint('paused', 3, 0);
  await keeper.runOnce();
  expect(changes.toSorted()).toEqual(['five 3', 'two 1']);
  await keeper.runOnce();
  expect(changes).toHaveLength(2);
  await setEndpoint('two', 1);
  await setEndpoint('five', 8);
  await database.pool.query("delete from endpoints where id = 'one'");
  await keeper.runOnce();
  expect(kept).toEqual(new Map([['five', 4]]));
});

test('where nothing can be guarded, nothing is tried', async () => {
  await setEndpoint('two', 2);
  const fail = () => Promise.reject(new Error('not to be called'));
  const guard: EvictionGuard = { list: async () => null, keep: fail, release: fail };
  await evictionGuardLoop({ pool: database.pool, logger: silentLogger, guard }).runOnce();
});
