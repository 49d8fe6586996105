import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { silentLogger } from '../core/logger.ts';
import { DatabaseClock } from './database-clock.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('tells the time of the database, whatever this process counts from', async () => {
  const monotonic = { time: 5, now: () => monotonic.time };
  const clock = new DatabaseClock({ pool: database.pool, monotonic, logger: silentLogger });
  await clock.adopt();
  const { rows } = await database.pool.query('select extract(epoch from clock_timestamp())::float8 * 1000 as ms');
  expect(Math.abs(clock.now() - rows[0].ms)).toBeLessThan(2_000);
  expect(Number.isInteger(clock.now())).toBe(true); // ids are made of it
  const before = clock.now();
  monotonic.time += 1_000;
  expect(clock.now() - before).toBe(1_000);
});
