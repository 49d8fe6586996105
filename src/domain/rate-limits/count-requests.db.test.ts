import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { UserId } from '../../core/ids.ts';
import { createUser } from '../access/users.ts';
import { countRequests, deleteOldRateWindows } from './count-requests.ts';
import { findUserRateLimit, writeUserRateLimit } from './user-rate-limit.ts';

const NOON = Date.parse('2026-03-04T12:00:00.000Z');
const QUOTAS = { minute: 10, hour: 20, day: 30 };

let database: TestDatabase;
let userId: UserId;
let users = 0;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  users += 1;
  userId = (await createUser(database.pool, { name: `user ${users}`, email: null })).id;
});

async function count(asked: number, afterMs = 0) {
  const counts = await countRequests(database.pool, new Map([[userId, asked]]), QUOTAS, new Date(NOON + afterMs));
  const { granted, windows } = counts.get(userId)!;
  return [granted, windows.minute.used, windows.hour.used, windows.day.used];
}

test('grants what every window has left; refused requests use no quota', async () => {
  expect(await count(4)).toEqual([4, 4, 4, 4]);
  expect(await count(7)).toEqual([6, 10, 10, 10]);
  expect(await count(1)).toEqual([0, 10, 10, 10]);
  expect(await count(99, 60_000)).toEqual([10, 10, 20, 20]);
  expect(await count(1, 120_000)).toEqual([0, 0, 20, 20]);
  expect(await count(11, 3_600_000)).toEqual([10, 10, 10, 30]);
  expect(await count(1, 7_200_000)).toEqual([0, 0, 0, 30]);
  expect(await count(1, 12 * 3_600_000)).toEqual([1, 1, 1, 1]);
});

test('the first count grants at most the quota', async () => {
  expect(await count(50)).toEqual([10, 10, 10, 10]);
});

test('a window starts on the full minute, to the millisecond', async () => {
  await count(10, -1);
  expect(await count(1, -1)).toEqual([0, 10, 10, 10]);
  expect(await count(1)).toEqual([1, 1, 1, 11]);
});

test('a count that started before a boundary but comes after it neither loses nor reopens a window', async () => {
  await count(10);
  expect(await count(3, -1)).toEqual([0, 10, 10, 10]);
  expect(await count(3)).toEqual([0, 10, 10, 10]);
});

test('after the clock was set back by hours, windows follow the new time', async () => {
  await count(10, 5 * 3_600_000);
  expect(await count(1)).toEqual([1, 1, 1, 11]);
});

test('a user’s own quotas apply from the next request, where given', async () => {
  await count(10);
  await writeUserRateLimit(database.pool, userId, { minute: 12 });
  expect(await count(9)).toEqual([2, 12, 12, 12]);
  await writeUserRateLimit(database.pool, userId, { minute: 5 });
  expect(await count(1)).toEqual([0, 12, 12, 12]);
  await writeUserRateLimit(database.pool, userId, {});
  expect(await count(1, 60_000)).toEqual([1, 1, 13, 13]);
});

test('exempt users are not counted', async () => {
  await writeUserRateLimit(database.pool, userId, 'exempt');
  expect(await findUserRateLimit(database.pool, userId)).toBe('exempt');
  expect((await countRequests(database.pool, new Map([[userId, 1]]), QUOTAS, null)).size).toBe(0);
});

test('users of one statement are counted separately', async () => {
  const other = await createUser(database.pool, { name: `other ${users}`, email: null });
  const asked = new Map([
    [userId, 3],
    [other.id, 20],
  ]);
  const counts = await countRequests(database.pool, asked, QUOTAS, null);
  expect([counts.get(userId)!.granted, counts.get(other.id)!.granted]).toEqual([3, 10]);
});

test('a day’s count is deleted when the next day is over', async () => {
  await count(1);
  const { pool } = database;
  const remembers = async () =>
    (await pool.query('select from rate_windows where user_id = $1', [userId])).rowCount === 1;
  await deleteOldRateWindows(pool, new Date('2026-03-05T23:59:59Z'));
  expect(await remembers()).toBe(true);
  await deleteOldRateWindows(pool, new Date('2026-03-06T00:00:00Z'));
  expect(await remembers()).toBe(false);
});
