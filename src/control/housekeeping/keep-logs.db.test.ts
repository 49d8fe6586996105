import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { silentLogger } from '../../core/logger.ts';
import { appendLogLines } from '../../domain/logs/append-log-lines.ts';
import type { LogLimits } from '../../domain/logs/decide-segments.ts';
import { listLogSegments, readSegmentBytes } from '../../domain/logs/log-segments.ts';
import { searchLog } from '../../domain/logs/search-log.ts';
import { LogKeeper } from './keep-logs.ts';

const DAY_MS = 86_400_000;
const MIB = 2 ** 20;

let database: TestDatabase;
let keeper: LogKeeper | undefined;
const clock = { time: 0, now: () => clock.time };
beforeEach(async () => {
  database = await createTestDatabase();
  clock.time = Date.now();
});
afterEach(async () => {
  await keeper?.stop();
  await database.drop();
});

function keep(limits: Partial<LogLimits>, freeBytes: number | null = null): LogKeeper {
  const readFreeBytes = freeBytes === null ? null : async () => freeBytes;
  const all = { retentionMs: 30 * DAY_MS, maxBytes: 2_048 * MIB, ...limits };
  keeper = new LogKeeper({ pool: database.pool, clock, logger: silentLogger, limits: all, readFreeBytes });
  return keeper;
}

/** Stores about a mebibyte per `count`, in lines that begin with a text. */
async function store(text: string, count = 1): Promise<void> {
  const line = `${text} ${'x'.repeat(1_000)}`;
  for (let n = 0; n < count; n++) {
    const lines = Array.from({ length: 1_000 }, () => ({
      workloadId: 'w',
      ts: new Date(clock.time),
      source: 'container' as const,
      line,
    }));
    await appendLogLines(database.pool, lines);
  }
}

async function firstLine(): Promise<string | undefined> {
  const query = { scope: { workloadId: 'w' }, filter: {}, order: 'oldest', limit: 1 } as const;
  const { lines } = await searchLog({ db: database.pool, clock }, query);
  return lines[0]?.line.split(' ')[0];
}
const totalBytes = async () => (await readSegmentBytes(database.pool)).reduce((sum, bytes) => sum + bytes, 0);

/** Makes all segments older. */
const pass = (days: number) =>
  database.pool.query("update log_segments set begun_at = begun_at - $1 * interval '1 day'", [days]);

test('lines are kept within the time: those of the oldest segment go together', async () => {
  const logs = keep({ retentionMs: 16 * DAY_MS });
  await store('first');
  await pass(2);
  await logs.runOnce();
  await store('second');
  await pass(15);
  await logs.runOnce();
  expect(await firstLine()).toBe('first');
  await pass(2);
  await logs.runOnce();
  expect(await firstLine()).toBe('second');
});

test('lines are kept within the size, whatever is stored: the oldest go first, and their space is free at once', async () => {
  const logs = keep({ maxBytes: 24 * MIB });
  for (let n = 0; n < 36; n++) {
    await store(`${n}`);
    await logs.runOnce();
    expect(await totalBytes()).toBeLessThan(24 * MIB);
  }
  expect(await totalBytes()).toBeGreaterThan(17 * MIB);
  expect(Number(await firstLine())).toBeGreaterThan(8);
  expect((await listLogSegments(database.pool)).length).toBeLessThanOrEqual(18);
});

test('the sizes are read as soon as much was stored, without waiting for a tick', async () => {
  const logs = keep({ maxBytes: 64 * MIB });
  logs.start();
  await store('flood', 6);
  logs.countStored(6 * MIB);
  await expect.poll(async () => (await listLogSegments(database.pool)).length).toBe(2);
});

test('on a disk that is nearly full, the oldest lines are removed earlier', async () => {
  const logs = keep({ maxBytes: 2_048 * MIB });
  await store('old', 20);
  await logs.runOnce();
  expect(await firstLine()).toBe('old');
  const onFullDisk = keep({}, 2 * MIB);
  await onFullDisk.runOnce();
  await store('new');
  expect(await firstLine()).toBe('new');
});

test('a reader of all lines, such as a backup, delays the removal and is not disturbed', async () => {
  const logs = keep({ maxBytes: 32 * MIB });
  await store('old', 33);
  const reader = await database.pool.connect();
  await reader.query('begin isolation level repeatable read');
  await reader.query('lock table log_lines in access share mode');
  await logs.runOnce(); // begins a segment, but drops none
  expect(await firstLine()).toBe('old');
  await store('new');
  await reader.query('commit');
  reader.release();
  await logs.runOnce();
  expect(await firstLine()).toBe('new');
});

test('a segment that a killed server had half begun is begun by the next one', async () => {
  const { rows } = await database.pool.query<{ end: number }>('select max(end_seq) as end from log_segments');
  await database.pool.query("select setval(pg_get_serial_sequence('log_lines', 'seq'), $1, false)", [rows[0]!.end]);
  await expect(store('lost?')).rejects.toThrow('no partition');
  await keep({}).runOnce();
  await store('stored');
  expect(await firstLine()).toBe('stored');
});
