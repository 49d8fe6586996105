import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { appendLogLines } from './append-log-lines.ts';
import { deleteOldLogLines } from './delete-old-log-lines.ts';
import { followLog } from './follow-log.ts';
import { lastLogSeq, listLogLines } from './list-log-lines.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => database.pool.query('truncate log_lines'));

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second, 123));
const append = (lines: readonly string[], workloadId = 'w') =>
  appendLogLines(
    database.pool,
    lines.map((line, i) => ({ workloadId, ts: at(i), source: i % 2 === 0 ? 'container' : 'system', line })),
  );
const texts = (lines: readonly { line: string }[]) => lines.map((line) => line.line);

test('lines of a batch are stored in its order, with their time to the millisecond', async () => {
  const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}`);
  await append(lines);
  const stored = await listLogLines(database.pool, { workloadId: 'w', limit: 2000 });
  expect(texts(stored)).toEqual(lines);
  expect(stored[7]).toEqual({ seq: expect.any(Number), ts: at(7), source: 'system', line: 'line 7' });
});

test('NUL, which the database cannot store, is replaced and fails no batch', async () => {
  await append(['a\0b', 'c']);
  expect(texts(await listLogLines(database.pool, { workloadId: 'w', limit: 9 }))).toEqual(['a\ufffdb', 'c']);
});

test('an empty batch runs no statement', async () => {
  await append([]);
  expect(await lastLogSeq(database.pool, 'w')).toBe(0);
});

test('lines are filtered by sequence, time, source and number', async () => {
  await append(['a', 'b', 'c', 'd']);
  await append(['other'], 'v');
  const list = async (query: object) =>
    texts(await listLogLines(database.pool, { workloadId: 'w', limit: 9, ...query }));
  const first = (await listLogLines(database.pool, { workloadId: 'w', limit: 1 }))[0]!;
  expect(await list({ afterSeq: first.seq })).toEqual(['b', 'c', 'd']);
  expect(await list({ since: at(2) })).toEqual(['c', 'd']);
  expect(await list({ afterTs: at(2) })).toEqual(['d']);
  expect(await list({ source: 'system' })).toEqual(['b', 'd']);
  expect(await list({ tail: 2 })).toEqual(['c', 'd']);
  expect(await list({ tail: 9, limit: 3 })).toEqual(['b', 'c', 'd']);
  expect(await list({ limit: 2 })).toEqual(['a', 'b']);
});

test('older lines are deleted', async () => {
  await append(['old']);
  await database.pool.query(`update log_lines set stored_at = now() - interval '2 days'`);
  await append(['new']);
  expect(await deleteOldLogLines(database.pool, new Date(Date.now() - 86_400_000))).toBe(1);
  expect(texts(await listLogLines(database.pool, { workloadId: 'w', limit: 9 }))).toEqual(['new']);
});

test('a follower without hints still finds new lines after the quiet time, and reports the quiet', async () => {
  const controller = new AbortController();
  const deaf = { subscribe: () => () => {} };
  const options = { workloadId: 'w', start: { tail: 1 }, source: undefined, quietMs: 20, signal: controller.signal };
  const log = followLog({ db: database.pool, bus: deaf }, options);
  await append(['a', 'b']);
  expect(texts((await log.next()).value!)).toEqual(['b']);
  expect((await log.next()).value).toEqual([]);
  await append(['c']);
  expect(texts((await log.next()).value!)).toEqual(['c']);
  controller.abort();
  while (!(await log.next()).done);
});
