import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { WorkerId } from '../../core/ids.ts';
import { KnownWorkers } from './known-workers.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Workers that work, three for each endpoint. */
async function insert(from: number, to: number): Promise<void> {
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, ready_at)
     select 'w' || n, 'e' || n / 3, 'u', 1, 'test', '{}', 'RUNNING', now() from generate_series($1::int, $2::int - 1) n`,
    [from, to],
  );
}

const exit = (id: string) => database.pool.query("update workers set phase = 'EXITED' where id = $1", [id]);

test('the list is known as a whole after the first look; later it comes in pages, and what is heard meanwhile counts', async () => {
  await insert(0, 2_500);
  const known = new KnownWorkers(database.pool);
  let now = 1_000_000;
  expect(await known.learn(now)).toHaveLength(2_500);
  expect(known.size).toBe(2_500);

  expect(await known.learn(now + 1)).toEqual([]); // not due
  await insert(2_500, 2_510);
  now = known.learnsAt;
  expect(await known.learn(now)).toEqual([]); // the first page says nothing about the others
  expect(known.size).toBe(2_500);
  expect(known.learnsAt).toBeLessThan(now + 1_000);
  await exit('w0');
  await exit('w2400');
  await insert(2_510, 2_511);
  const heardOf = ['w0', 'w2400', 'w2510'] as WorkerId[];
  await known.readDirty(heardOf);
  const found: WorkerId[] = [];
  for (let pages = 0; known.learnsAt < now + 10_000; pages++) {
    expect(pages).toBeLessThan(10);
    now = known.learnsAt;
    found.push(...(await known.learn(now)));
  }
  expect(found.sort()).toEqual(Array.from({ length: 10 }, (_, n) => `w${2_500 + n}`)); // w2510 was known by then
  expect(known.size).toBe(2_509);
  expect(heardOf.map((id) => known.get(id)?.phase)).toEqual([undefined, undefined, 'RUNNING']);
});
