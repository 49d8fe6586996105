/** Lines of a version before segments: migrations/0046-log-segments.sql. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { applyMigrations, listMigrations } from '../../db/migrate.ts';
import { appendLogLines } from './append-log-lines.ts';
import { findKeptSince, listLogSegments } from './log-segments.ts';
import { type LogSearch, searchLog } from './search-log.ts';

const clock = { now: () => 0 };
let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase({ isEmpty: true });
  await applyMigrations(database.pool, await before());
});
afterEach(() => database.drop());

const before = async () => (await listMigrations()).filter((name) => name < '0046');
const upgrade = async () =>
  applyMigrations(
    database.pool,
    (await listMigrations()).filter((name) => name >= '0046'),
  );

/** Stores lines as the version before did, a second apart, the last one now. */
async function store(count: number, firstSeq: number): Promise<void> {
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ('w', 'e', 'u', 1, '', '{}')`,
  );
  await database.pool.query(
    `insert into log_lines (seq, workload_id, ts, source, line, level, stored_at) overriding system value
     select $2 + i, case when i % 4 = 0 then 'pod' else 'w' end, t - interval '5 minutes', 'container', 'line ' || i, 2, t
     from generate_series(0, $1::int - 1) i, lateral (select now() - ($1 - 1 - i) * interval '1 s' as t) times`,
    [count, firstSeq],
  );
  await database.pool.query("select setval(pg_get_serial_sequence('log_lines', 'seq'), $1)", [firstSeq + count - 1]);
}

const read = (query: Partial<LogSearch> = {}) =>
  searchLog(
    { db: database.pool, clock },
    { scope: { endpointId: 'e' }, filter: {}, order: 'newest', limit: 10_000, ...query },
  );
const last = (page: { lines: { line: string }[] }) => page.lines.at(0)?.line;

test('all lines are there, with their numbers, of a worker, a pod and an endpoint; new ones follow them', async () => {
  await store(1_000, 40_000_000);
  await upgrade();
  expect((await read()).lines).toHaveLength(750);
  expect((await read({ scope: { workloadId: 'pod' } })).lines.at(-1)).toMatchObject({
    seq: 40_000_000,
    line: 'line 0',
  });
  expect((await read({ before: 40_000_500 })).lines[0]).toMatchObject({
    seq: 40_000_499,
    line: 'line 499',
    level: 'INFO',
  });
  await appendLogLines(database.pool, [{ workloadId: 'w', ts: new Date(), source: 'container', line: 'new' }]);
  expect((await read()).lines[0]).toMatchObject({ seq: 40_001_000, line: 'new' });
  expect(await findKeptSince(database.pool)).toBeNull();
});

test('a time range finds lines that were stored long after they were written', async () => {
  await store(1_000, 1);
  await upgrade();
  const [segment] = await listLogSegments(database.pool);
  expect(segment!.lateMs).toBe(300_000);
  const { ts } = (await read({ before: 902 })).lines[0]!;
  const filter = { since: ts, until: new Date(ts.getTime() + 1_000) };
  expect((await read({ filter })).lines.map(({ line }) => line)).toEqual(['line 899']);
});

test('many lines get several segments, of which the oldest can go first', async () => {
  await store(1_000, 1);
  await database.pool.query(
    `with moved as (delete from log_lines where seq > 500 returning *)
     insert into log_lines (seq, workload_id, ts, source, line, level, stored_at) overriding system value
     select seq + 3000000, workload_id, ts, source, line, level, stored_at from moved`,
  );
  await upgrade();
  const segments = await listLogSegments(database.pool);
  expect(segments.length).toBeGreaterThan(1);
  expect(segments[0]).toMatchObject({ firstSeq: 0 });
  expect(await findKeptSince(database.pool)).toBeNull();
  for (const [i, { firstSeq }] of segments.slice(1).entries()) expect(segments[i]!.endSeq).toBe(firstSeq);
  expect((await read()).lines).toHaveLength(750);
});

test('a database without lines is upgraded, and its first line is stored', async () => {
  await upgrade();
  expect(await findKeptSince(database.pool)).toBeNull();
  await appendLogLines(database.pool, [{ workloadId: 'p', ts: new Date(), source: 'container', line: 'first' }]);
  expect(last(await read({ scope: { workloadId: 'p' } }))).toBe('first');
});
