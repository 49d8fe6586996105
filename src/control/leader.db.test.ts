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
function candidate(calls: string[], name: string, prepare: () => Promise<void>): Leadership {
  return new Leadership({
    databaseUrl: database.url,
    logger: silentLogger,
    prepare: async () => {
      calls.push(`${name} prepares`);
      await prepare();
    },
    onLead: () => calls.push(`${name} leads`),
    onStepDown: async () => void calls.push(`${name} steps down`),
  });
}

test('prepare runs before onLead, on the only process that leads', async () => {
  const calls: string[] = [];
  const first = candidate(calls, 'first', async () => {});
  const second = candidate(calls, 'second', async () => {});
  await first.start();
  await second.start();
  expect(calls).toEqual(['first prepares', 'first leads']);
  await first.stop();
  await expect.poll(() => calls, { timeout: 10_000 }).toContain('second leads');
  expect(calls.slice(2)).toEqual(['first steps down', 'second prepares', 'second leads']);
  await second.stop();
});

test('when prepare fails no process leads, and the lock is free for another process or the next attempt', async () => {
  const calls: string[] = [];
  let isBroken = true;
  const fragile = candidate(calls, 'fragile', async () => {
    if (isBroken) throw new Error('not now');
  });
  await fragile.start();
  expect(calls).toEqual(['fragile prepares']);
  const other = candidate(calls, 'other', async () => {});
  await other.start();
  await expect.poll(() => calls, { timeout: 10_000 }).toContain('other leads');
  isBroken = false;
  await other.stop();
  await expect.poll(() => calls, { timeout: 10_000 }).toContain('fragile leads');
  await fragile.stop();
  expect(calls.at(-1)).toBe('fragile steps down');
});
