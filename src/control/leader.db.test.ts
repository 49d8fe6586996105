import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { silentLogger } from '../core/logger.ts';
import { Leadership } from './leader.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Tells what it does; `prepare` is what comes first. */
function candidate(told: string[], name: string, prepare: () => Promise<void>): Leadership {
  return new Leadership({
    databaseUrl: database.url,
    logger: silentLogger,
    prepare: async () => {
      told.push(`${name} prepares`);
      await prepare();
    },
    onLead: () => told.push(`${name} leads`),
    onStepDown: async () => void told.push(`${name} steps down`),
  });
}

test('prepare runs before onLead, on the only process that leads', async () => {
  const told: string[] = [];
  const first = candidate(told, 'first', async () => {});
  const second = candidate(told, 'second', async () => {});
  await first.start();
  await second.start();
  expect(told).toEqual(['first prepares', 'first leads']);
  await first.stop();
  await expect.poll(() => told, { timeout: 10_000 }).toContain('second leads');
  expect(told.slice(2)).toEqual(['first steps down', 'second prepares', 'second leads']);
  await second.stop();
});

test('when prepare fails no process leads, and the lock is free for another process or the next attempt', async () => {
  const told: string[] = [];
  let isBroken = true;
  const fragile = candidate(told, 'fragile', async () => {
    if (isBroken) throw new Error('not now');
  });
  await fragile.start();
  expect(told).toEqual(['fragile prepares']);
  const other = candidate(told, 'other', async () => {});
  await other.start();
  await expect.poll(() => told, { timeout: 10_000 }).toContain('other leads');
  isBroken = false;
  await other.stop();
  await expect.poll(() => told, { timeout: 10_000 }).toContain('fragile leads');
  await fragile.stop();
  expect(told.at(-1)).toBe('fragile steps down');
});
