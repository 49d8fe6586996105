import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { LogRates } from '../../config/limit-settings.ts';
import { newId, type UserId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { createUser } from '../../domain/access/users.ts';
import { beginLogSegment, dropLogSegment, listLogSegments } from '../../domain/logs/log-segments.ts';
import { writeLimits } from '../../domain/quotas/limit-store.ts';
import { readLogUsage } from '../../domain/quotas/log-usage.ts';
import type { LogLine, Runtime } from '../../runtimes/runtime.ts';
import { LogCollector } from './collect-logs.ts';

let database: TestDatabase;
let userId: UserId;
let collector: LogCollector;
/** The output of each workload. */
let outputs: Map<string, () => AsyncIterable<LogLine> | Iterable<LogLine>>;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(async () => {
  outputs = new Map();
  userId = (await createUser(database.pool, { name: newId(), email: null })).id;
});
afterEach(() => collector.stop());

function collect(rates?: LogRates): void {
  const runtime = {
    capabilities: { logs: true },
    async *logs(id: string, { since }: { since?: Date }) {
      for await (const line of outputs.get(id)!()) if (since === undefined || line.ts > since) yield line;
    },
  };
  collector = new LogCollector({
    pool: database.pool,
    bus: { publish: () => {}, subscribe: () => () => {} } as never,
    runtime: runtime as never as Runtime,
    logger: silentLogger,
    ...(rates ? { rates } : {}),
  });
  collector.start();
}

async function worker(endpointId = newId(), prints: () => Iterable<LogLine> | AsyncIterable<LogLine>): Promise<string> {
  const id = newId();
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec) values ($1, $2, $3, 1, '', '{}')`,
    [id, endpointId, userId],
  );
  outputs.set(id, prints);
  return id;
}

function* lines(count: number, text: string): Generator<LogLine> {
  for (let n = 0; n < count; n++) yield { ts: new Date(Date.now()), line: `${n} ${text}` };
}

const stored = async (id: string, source: 'container' | 'system') => {
  const { rows } = await database.pool.query<{ line: string }>(
    'select line from log_lines where workload_id = $1 and source = $2 order by seq',
    [id, source],
  );
  return rows.map(({ line }) => line);
};

test('of a flood of 40 MB the burst is stored, with its last lines and one line about the rest, while others are stored at once', async () => {
  collect();
  const flooding = await worker(undefined, () => lines(40_000, 'x'.repeat(1_000)));
  let say: (line: LogLine) => void = () => {};
  const said = new Promise<LogLine>((resolve) => {
    say = resolve;
  });
  const quiet = await worker(undefined, async function* () {
    yield await said;
  });
  collector.follow(quiet);
  collector.follow(flooding);
  await expect.poll(async () => (await stored(flooding, 'container')).length).toBeGreaterThan(0);
  const saidAt = performance.now();
  say({ ts: new Date(), line: 'hello' });
  await expect.poll(() => stored(quiet, 'container')).toEqual(['hello']);
  expect(performance.now() - saidAt).toBeLessThan(5_000); // bounds a hang
  await collector.finish(flooding, 25_000);
  await expect.poll(async () => (await stored(flooding, 'container')).at(-1)).toMatch(/^39999 x/);
  const kept = await stored(flooding, 'container');
  const bytes = kept.reduce((sum, line) => sum + line.length, 0);
  expect(bytes).toBeGreaterThan(3_500_000);
  expect(bytes).toBeLessThan(4 * 2 ** 20 + 30 * 256 * 2 ** 10);
  const notices = await stored(flooding, 'system');
  expect(notices.length).toBeLessThanOrEqual(3);
  expect(notices.at(-1)).toMatch(
    /^\d+ lines of \d+ bytes were dropped within \d+ s: a worker or pod may log 262144 bytes a second$/,
  );
  const dropped = notices.reduce((sum, line) => sum + Number(/^\d+/.exec(line)![0]), 0);
  expect(kept.length + dropped).toBe(40_000 + 20); // the last lines are dropped, and kept in the end
});

test('a user’s stored bytes a day are counted with the lines, over workers and restarts, and end the storing', async () => {
  await writeLimits(database.pool, userId, { logBytesPerDay: 5_000 });
  collect();
  const first = await worker(undefined, () => lines(20, 'y'.repeat(30)));
  collector.follow(first);
  await collector.finish(first, 5_000);
  await expect.poll(async () => (await stored(first, 'container')).length).toBe(20);
  const used = (await readLogUsage(database.pool, [userId])).get(userId)!;
  expect(used).toBe(10 * (64 + 32) + 10 * (64 + 33));
  await collector.stop();
  collect(); // another leader
  const second = await worker(undefined, () => lines(100, 'y'.repeat(30)));
  collector.follow(second);
  await collector.finish(second, 5_000);
  const sentence = "the limit 'logBytesPerDay' allows 5000 stored log bytes a day";
  await expect
    .poll(() => stored(second, 'system'))
    .toEqual([
      `lines are dropped until 00:00 UTC: ${sentence}`,
      expect.stringMatching(new RegExp(`^6\\d lines of \\d+ bytes were dropped within \\d+ s: ${sentence}$`)),
    ]);
});

test('the workers of one endpoint share what it may log', async () => {
  collect({ workloadBytes: 10_000, endpointBytes: 20_000 });
  const endpointId = newId();
  const ids = await Promise.all(
    Array.from({ length: 4 }, () => worker(endpointId, () => lines(5_000, 'z'.repeat(30)))),
  );
  for (const id of ids) collector.follow(id);
  await Promise.all(ids.map((id) => collector.finish(id, 20_000)));
  const bytes = async () => {
    const { rows } = await database.pool.query<{ bytes: number }>(
      "select sum(octet_length(line) + 64)::int8 as bytes from log_lines where workload_id = any($1) and source = 'container'",
      [ids],
    );
    return rows[0]!.bytes;
  };
  await expect.poll(bytes).toBeGreaterThan(300_000);
  expect(await bytes()).toBeLessThan(16 * 20_000 + 4 * 20 * 200 + 100_000);
});

test('lines that were removed are not stored again when a new leader follows a workload', async () => {
  collect();
  const quiet = await worker(undefined, () => [{ ts: new Date(Date.now() - 60_000), line: 'long ago' }]);
  collector.follow(quiet);
  await collector.finish(quiet, 5_000);
  await expect.poll(() => stored(quiet, 'container')).toEqual(['long ago']);
  const [segment] = await listLogSegments(database.pool);
  await beginLogSegment(database.pool);
  await dropLogSegment(database.pool, segment!);
  await collector.stop();
  collect();
  collector.follow(quiet);
  await collector.finish(quiet, 5_000);
  await collector.stop();
  expect(await stored(quiet, 'container')).toEqual([]);
});
