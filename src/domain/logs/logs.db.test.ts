import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { appendLogLines, type NewLogLine } from './append-log-lines.ts';
import { findLastStored } from './find-last-stored.ts';
import { followLog } from './follow-log.ts';
import { findLogWindow, lastLogSeq } from './log-scope.ts';
import { beginLogSegment, dropLogSegment, findKeptSince, listLogSegments } from './log-segments.ts';
import { type LogSearch, MAX_PAGE_BYTES, MAX_SEARCHED_BYTES, searchLog } from './search-log.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() =>
  database.pool.query('truncate log_lines; delete from workers; update log_segments set late_ms = 60000'),
);

const W = { workloadId: 'w' };
const E = { endpointId: 'e' };
const clock = { now: () => 0 };
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second, 123));
const append = (lines: readonly string[], workloadId = 'w') =>
  appendLogLines(
    database.pool,
    lines.map((line, i) => ({ workloadId, ts: at(i), source: i % 2 === 0 ? 'container' : 'system', line })),
  );
const texts = (lines: readonly { line: string }[]) => lines.map((line) => line.line);
const search = (query: Partial<LogSearch> = {}) =>
  searchLog({ db: database.pool, clock }, { scope: W, filter: {}, order: 'oldest', limit: 10_000, ...query });

async function addWorkers(...ids: string[]): Promise<void> {
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec)
     select id, 'e', 'u', 1, '', '{}' from unnest($1::text[]) as id`,
    [ids],
  );
}

/** Stores lines as if at the time they were written, or so much later. */
async function appendAt(lines: readonly Omit<NewLogLine, 'source'>[], lateMs = 0): Promise<void> {
  const before = await database.pool.query<{ seq: number }>('select coalesce(max(seq), 0)::int8 as seq from log_lines');
  await appendLogLines(
    database.pool,
    lines.map((line) => ({ source: 'container', ...line })),
  );
  await database.pool.query("update log_lines set stored_at = ts + $2 * interval '1 ms' where seq > $1", [
    before.rows[0]!.seq,
    lateMs,
  ]);
  await database.pool.query('update log_segments set begun_at = $1, late_ms = $2', [at(0), Math.max(60_000, lateMs)]);
}

test('lines of a batch are stored in its order, with their time to the millisecond and their level', async () => {
  const lines = Array.from({ length: 1000 }, (_, i) => `line ${i}`);
  await append(lines);
  await appendAt([{ workloadId: 'w', ts: at(0), line: 'bad', level: 'ERROR' }]);
  const stored = (await search()).lines;
  expect(texts(stored)).toEqual([...lines, 'bad']);
  expect(stored[7]).toEqual({
    seq: expect.any(Number),
    workloadId: 'w',
    ts: at(7),
    source: 'system',
    line: 'line 7',
    level: null,
  });
  expect(stored[1000]!.level).toBe('ERROR');
});

test('NUL, which the database cannot store, is replaced and fails no batch', async () => {
  await append(['a\0b', 'c']);
  expect(texts((await search()).lines)).toEqual(['a\ufffdb', 'c']);
});

test('an empty batch runs no statement', async () => {
  await append([]);
  expect(await lastLogSeq(database.pool, W)).toBe(0);
});

test('segments follow each other without a gap for readers; with the oldest its lines go, and no others', async () => {
  const own = await createTestDatabase();
  const read = (order: 'oldest' | 'newest', limit: number) =>
    searchLog({ db: own.pool, clock }, { scope: W, filter: {}, order, limit });
  const store = (line: string) =>
    appendLogLines(own.pool, [{ workloadId: 'w', ts: new Date(), source: 'container', line }]);
  await store('first');
  for (const line of ['second', 'third']) {
    await beginLogSegment(own.pool);
    await store(line);
  }
  expect(texts((await read('oldest', 9)).lines)).toEqual(['first', 'second', 'third']);
  expect(texts((await read('newest', 2)).lines)).toEqual(['third', 'second']);
  const [oldest, next, newest] = await listLogSegments(own.pool);
  expect(await findKeptSince(own.pool)).toBeNull();
  await dropLogSegment(own.pool, oldest!);
  expect(texts((await read('oldest', 9)).lines)).toEqual(['second', 'third']);
  expect(await findKeptSince(own.pool)).toEqual(next!.begunAt);
  expect((await read('newest', 1)).lines[0]!.seq).toBe(newest!.firstSeq);
  await own.drop();
});

test('how far a workload is stored: its latest time, with the lines of that time, of two outputs out of step', async () => {
  const store = (id: string, ...seconds: number[]) =>
    appendAt(seconds.map((second) => ({ workloadId: id, ts: at(second), line: `${second}` })));
  await store('w', 1, 2, 5, 5, 4.9, 5);
  await store('v', 3);
  await appendLogLines(database.pool, [{ workloadId: 'silent', ts: at(1), source: 'system', line: 'started' }]);
  expect(await findLastStored(database.pool, ['w', 'v', 'silent', 'unknown'])).toEqual(
    new Map([
      ['w', { ts: at(5), seen: 3 }],
      ['v', { ts: at(3), seen: 1 }],
    ]),
  );
});

test('a follower without hints still finds new lines after the quiet time, and reports the quiet', async () => {
  const controller = new AbortController();
  const silentBus = { subscribe: () => () => {} };
  const options = { scope: W, start: { tail: 1 }, filter: {}, quietMs: 20, signal: controller.signal };
  const log = followLog({ db: database.pool, bus: silentBus }, options);
  await append(['a', 'b']);
  expect((await log.next()).value).toEqual({ lines: [] });
  expect(texts((await log.next()).value!.lines)).toEqual(['b']);
  expect((await log.next()).value).toEqual({ lines: [] });
  await append(['c']);
  expect(texts((await log.next()).value!.lines)).toEqual(['c']);
  controller.abort();
  while (!(await log.next()).done);
});

test('a line that is stored once a follower has begun is new to it, however few old ones it wants', async () => {
  const controller = new AbortController();
  const options = { scope: W, start: { tail: 0 }, filter: {}, quietMs: 20, signal: controller.signal };
  const log = followLog({ db: database.pool, bus: { subscribe: () => () => {} } }, options);
  await append(['old']);
  await log.next();
  await append(['new']);
  const next = async (): Promise<string[]> => {
    const { lines } = (await log.next()).value!;
    return lines.length > 0 ? texts(lines) : next();
  };
  expect(await next()).toEqual(['new']);
  controller.abort();
  while (!(await log.next()).done);
});

test('a search takes text in any case, a least level, a source and a time range', async () => {
  await appendAt(
    (
      [
        ['CUDA Out of memory', 'ERROR'],
        ['slow', 'WARN'],
        ['up', 'INFO'],
        ['100 %_\\', null],
      ] as const
    ).map(([line, level], i) => ({ workloadId: 'w', ts: at(i), line, level })),
  );
  await append(['other'], 'v');
  const find = async (filter: LogSearch['filter']) => texts((await search({ filter })).lines);
  expect(await find({ search: 'cuda OUT' })).toEqual(['CUDA Out of memory']);
  expect(await find({ search: '%_\\' })).toEqual(['100 %_\\']);
  expect(await find({ search: '' })).toHaveLength(4);
  expect(await find({ level: 'WARN' })).toEqual(['CUDA Out of memory', 'slow']);
  expect(await find({ level: 'DEBUG' })).toHaveLength(3);
  expect(await find({ source: 'system' })).toEqual([]);
  expect(await find({ since: at(1), until: at(3) })).toEqual(['slow', 'up']);
  expect(await find({ after: at(1) })).toEqual(['up', '100 %_\\']);
  expect(await find({ since: new Date('0000-01-01T00:00:00Z') })).toHaveLength(4);
});

test('pages in either order hold every line of all workers once, whatever each of them wrote', async () => {
  await addWorkers('w', 'v', 'quiet');
  const written: string[] = [];
  for (let n = 0; n < 40; n++) {
    const lines = Array.from({ length: n % 7 }, (_, i) => `${n}.${i}`);
    await append(lines, n % 3 === 0 ? 'v' : 'w');
    written.push(...lines);
  }
  await append(['of another endpoint'], 'foreign');
  await database.pool.query("delete from workers where id = 'v'"); // its lines outlive its record
  for (const order of ['oldest', 'newest'] as const) {
    const found: string[] = [];
    let position: Partial<LogSearch> = {};
    for (;;) {
      const page = await search({ scope: E, order, limit: 7, ...position });
      found.push(...texts(page.lines));
      if (page.next === null) break;
      expect(page.lines).toHaveLength(7);
      position = order === 'oldest' ? { after: page.next.seq } : { before: page.next.seq };
    }
    expect(found).toEqual(order === 'oldest' ? written : written.toReversed());
  }
});

test('a search that finds nothing stops at its bound of bytes, says where, and continues there', async () => {
  const line = 'x'.repeat(16_000);
  const count = Math.ceil((1.5 * MAX_SEARCHED_BYTES) / line.length);
  await append(['needle', ...Array.from({ length: count }, () => line)]);
  const first = await search({ filter: { search: 'needle' }, order: 'newest', limit: 1 });
  expect(first).toMatchObject({ lines: [], isStopped: true, next: { seq: expect.any(Number), ts: expect.any(Date) } });
  const second = await search({ filter: { search: 'needle' }, order: 'newest', limit: 1, before: first.next!.seq });
  expect(texts(second.lines)).toEqual(['needle']);
});

test('a page of long lines ends at its bound of bytes, says where, and the next one misses none', async () => {
  const written = Array.from({ length: 60 }, (_, i) => `${i}`.padEnd(256 * 1024, 'x'));
  await append(written);
  for (const order of ['oldest', 'newest'] as const) {
    const found: string[] = [];
    for (let position: Partial<LogSearch> = {}; ; ) {
      const page = await search({ order, limit: 100, ...position });
      const bytes = page.lines.reduce((sum, { line }) => sum + line.length, 0);
      expect(bytes).toBeLessThanOrEqual(MAX_PAGE_BYTES);
      found.push(...texts(page.lines));
      if (page.next === null) break;
      expect(page).toMatchObject({ isStopped: true, lines: { length: MAX_PAGE_BYTES / 2 ** 18 } });
      position = order === 'oldest' ? { after: page.next.seq } : { before: page.next.seq };
    }
    expect(found).toEqual(order === 'oldest' ? written : written.toReversed());
  }
});

test('a search stops at its bound of time', async () => {
  await append(Array.from({ length: 2_000 }, () => 'x'));
  let nowMs = 0;
  const slow = { now: () => (nowMs += 1_500) };
  const query = { scope: W, filter: { search: 'needle' }, order: 'newest', limit: 1 } as const;
  const page = await searchLog({ db: database.pool, clock: slow }, query);
  expect(page).toMatchObject({ lines: [], isStopped: true });
});

test('a time range is found by bisection: little else is read, and late lines are not missed', async () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => ({ workloadId: 'w', ts: at(i * 10), line: `${i}` }));
  await appendAt(lines);
  const range = { since: at(100_000), until: at(100_100) };
  const window = await findLogWindow(database.pool, W, range);
  expect(window.before - window.after).toBeLessThan(2_000);
  expect(texts((await search({ filter: range })).lines)).toEqual(Array.from({ length: 10 }, (_, i) => `${10_000 + i}`));
  // Written while no server ran: stored long after.
  await appendAt([{ workloadId: 'w', ts: at(200_050), line: 'late' }], 300_000_000);
  await appendAt([{ workloadId: 'w', ts: at(500_001), line: 'now' }]);
  expect(texts((await search({ filter: { since: at(200_010), until: at(200_100) } })).lines)).toEqual(['late']);
});

test('the log of an endpoint has the lines of a worker that starts while it is followed, without a hint of their own', async () => {
  const controller = new AbortController();
  const listeners: ((id: string) => void)[] = [];
  const bus = {
    subscribe: (_: string, listener: (id: string) => void) => {
      listeners.push(listener);
      return () => {};
    },
  };
  const hint = (id: string) => {
    for (const listener of listeners) listener(id);
  };
  await addWorkers('w');
  const options = { scope: E, start: { tail: 9 }, filter: {}, quietMs: 60_000, signal: controller.signal };
  const log = followLog({ db: database.pool, bus }, options);
  await append(['a']);
  await log.next();
  expect(texts((await log.next()).value!.lines)).toEqual(['a']);
  const next = log.next();
  await addWorkers('new');
  await append(['b'], 'new');
  await append(['c'], 'foreign');
  hint('foreign');
  hint('new');
  expect((await next).value!.lines).toMatchObject([{ line: 'b', workloadId: 'new' }]);
  controller.abort();
  while (!(await log.next()).done);
});
