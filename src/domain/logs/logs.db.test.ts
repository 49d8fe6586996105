import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { appendLogLines, type NewLogLine } from './append-log-lines.ts';
import { deleteOldLogLines } from './delete-old-log-lines.ts';
import { followLog } from './follow-log.ts';
import { findLogWindows, lastLogSeq } from './log-scope.ts';
import { type LogSearch, MAX_SEARCHED_BYTES, searchLog } from './search-log.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => database.pool.query('truncate log_lines; delete from workers'));

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

/** Stores lines as if at the time they were written. */
async function appendAt(lines: readonly Omit<NewLogLine, 'source'>[], storedAt?: Date): Promise<void> {
  const before = await database.pool.query<{ seq: number }>('select coalesce(max(seq), 0)::int8 as seq from log_lines');
  await appendLogLines(
    database.pool,
    lines.map((line) => ({ source: 'container', ...line })),
  );
  await database.pool.query('update log_lines set stored_at = coalesce($2, ts) where seq > $1', [
    before.rows[0]!.seq,
    storedAt ?? null,
  ]);
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

test('older lines are deleted', async () => {
  await append(['old']);
  await database.pool.query(`update log_lines set stored_at = now() - interval '2 days'`);
  await append(['new']);
  expect(await deleteOldLogLines(database.pool, new Date(Date.now() - 86_400_000))).toBe(1);
  expect(texts((await search()).lines)).toEqual(['new']);
});

test('a follower without hints still finds new lines after the quiet time, and reports the quiet', async () => {
  const controller = new AbortController();
  const deaf = { subscribe: () => () => {} };
  const options = { scope: W, start: { tail: 1 }, filter: {}, quietMs: 20, signal: controller.signal };
  const log = followLog({ db: database.pool, bus: deaf }, options);
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
  const [window] = await findLogWindows(database.pool, W, range);
  expect(window!.hi - window!.lo).toBeLessThan(2_000);
  expect(texts((await search({ filter: range })).lines)).toEqual(Array.from({ length: 10 }, (_, i) => `${10_000 + i}`));
  // Written while no server ran: stored long after.
  await appendAt([{ workloadId: 'w', ts: at(200_050), line: 'late' }], at(500_000));
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
