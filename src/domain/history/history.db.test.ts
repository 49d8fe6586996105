import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { EndpointActivity } from '../../core/endpoint-activity.ts';
import { type EndpointId, newId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { ActivityReporter } from './activity-reporter.ts';
import { type Range, readHistory, type Step } from './read-history.ts';
import { deleteOldHistory, foldHistory, writeHistory } from './write-history.ts';

let database: TestDatabase;
let endpointId: EndpointId;
/** The start of an hour, a while ago. */
const START = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 3 * 3_600_000;
const MINUTE = 60_000;
const at = (minute: number, second = 0) => new Date(START + minute * MINUTE + second * 1000);
const GPU = 'NVIDIA GeForce RTX 4090';

beforeAll(async () => {
  database = await createTestDatabase();
  await sql("insert into users (id, name) values ('user', 'user')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql('delete from history');
  await sql('delete from history_reports');
  await sql('delete from history_marks');
  await sql('delete from endpoint_counters');
  await sql('delete from workers');
  await sql('delete from usage');
  await sql('update history_progress set written_until = $1, usage_until = $1, hours_until = $1', at(0));
  await sql('update usage_meter set metered_until = $1', at(0));
  endpointId = await endpoint();
});

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);

async function endpoint(): Promise<EndpointId> {
  const id = newId<EndpointId>();
  await insertEndpoint(database.pool, { id, user_id: 'user' });
  return id;
}

const count = (counters: Record<string, number>, lane = 'p/finish0') =>
  sql(
    `insert into endpoint_counters as k (endpoint_id, lane, ${Object.keys(counters).join(', ')})
     values ($1, $2, ${Object.values(counters).join(', ')})
     on conflict (endpoint_id, lane) do update set ${Object.keys(counters)
       .map((name) => `${name} = k.${name} + excluded.${name}`)
       .join(', ')}`,
    endpointId,
    lane,
  );
/** Writes the history as soon as this minute is over. */
const write = (minute: number) => writeHistory(database.pool, at(minute + 1, 6));
const read = (options: { range?: Range; step?: Step; now?: Date; pool?: string } = {}) =>
  readHistory(
    database.pool,
    options.pool === undefined ? { kind: 'ENDPOINT', subject: endpointId } : { kind: 'POOL', subject: options.pool },
    { range: options.range ?? '1h', step: options.step ?? 60, now: (options.now ?? at(59, 30)).getTime() },
  );
const values = async (name: 'completed' | 'failed' | 'workers_ended', options: Parameters<typeof read>[0] = {}) =>
  Object.fromEntries(
    (await read(options)).points.map((point) => [(point.at.getTime() - START) / MINUTE, point.values[name]]),
  );

async function report(minute: number, record: (activity: EndpointActivity) => void): Promise<void> {
  const activity = new EndpointActivity();
  record(activity);
  const reporter = new ActivityReporter({
    pool: database.pool,
    activity,
    clock: { now: Date.now },
    logger: silentLogger,
  });
  await reporter.runOnce();
  await sql('update history_reports set starts_at = $1 where starts_at > $2', at(minute), at(100));
}

test('each minute has the jobs that ended in it, whichever lane counted them; an idle minute has no row', async () => {
  await count({ completed: 5, failed: 1 });
  await count({ completed: 2 }, 'q/finish1');
  await write(0);
  await write(1);
  await count({ completed: 3 });
  await write(2);
  expect(await values('completed')).toEqual({ 0: 7, 2: 3 });
  expect(await values('failed')).toEqual({ 0: 1, 2: 0 });
});

test('a minute that two leaders write is counted once', async () => {
  await count({ completed: 5 });
  await Promise.all([write(0), write(0), write(0)]);
  await count({ completed: 4 });
  await write(0);
  await write(1);
  expect(await values('completed')).toEqual({ 0: 5, 1: 4 });
});

test('what ended while nothing led counts for the next minute that is written', async () => {
  await count({ completed: 5 });
  await write(7);
  expect(await values('completed')).toEqual({ 7: 5 });
});

test('counters that are folded or belong to a deleted endpoint change nothing', async () => {
  await count({ completed: 5 });
  await write(0);
  await sql("update endpoint_counters set lane = 'folded'");
  await write(1);
  expect(await values('completed')).toEqual({ 0: 5 });
  await sql('delete from endpoints where id = $1', endpointId);
  await count({ completed: 1 });
  await write(2);
  expect(await values('completed')).toEqual({ 0: 5 });
});

test('a clock that jumps and comes back loses and repeats no job', async () => {
  await count({ completed: 1 });
  await write(0);
  await count({ completed: 2 });
  await write(3_000); // two days ahead, for a moment
  while (await foldHistory(database.pool));
  await count({ completed: 4 });
  await write(1);
  await count({ completed: 8 });
  await write(2);
  await write(70);
  await foldHistory(database.pool);
  expect(await values('completed')).toEqual({ 0: 1, 1: 4, 2: 8 });
  expect(await values('completed', { range: '24h', step: 3600, now: at(75) })).toMatchObject({ 0: 13 });
});

test('times of all processes make one histogram, also of a report that comes late', async () => {
  await count({ completed: 300 });
  await report(0, (activity) => {
    for (let n = 0; n < 100; n++) activity.jobEnded(endpointId, 10, 1_000);
  });
  await report(0, (activity) => {
    for (let n = 0; n < 100; n++) activity.jobEnded(endpointId, 20, 4_000);
  });
  await write(0);
  await report(0, (activity) => {
    for (let n = 0; n < 100; n++) activity.jobEnded(endpointId, 5_000, null);
  });
  await write(1);
  const [point, ...others] = (await read()).points;
  expect(others).toEqual([]);
  expect(point!.values.completed).toBe(300);
  expect(point!.percentiles.waits!.p50 / 20).toBeCloseTo(1, 0);
  expect(point!.percentiles.waits!.p95 / 5_000).toBeCloseTo(1, 0);
  expect(point!.percentiles.executions!.p95 / 4_000).toBeCloseTo(1, 0);
  expect(point!.percentiles.latencies!.p95 / 4_020).toBeCloseTo(1, 0); // of those that ran
  expect(await sql('select from history_reports')).toEqual([]);
});

test('load-balanced requests are counted by the class of their status', async () => {
  await report(0, (activity) => {
    for (const status of [200, 204, 101, 404, 499, 503]) activity.requestEnded(endpointId, status, 30);
  });
  await write(0);
  const [point] = (await read()).points;
  expect(point!.values).toMatchObject({ requests_1xx: 1, requests_2xx: 2, requests_4xx: 2, requests_5xx: 1 });
  expect(point!.percentiles.latencies!.p99 / 30).toBeCloseTo(1, 0);
  expect(point!.percentiles.waits).toBeNull();
});

test('a report that cannot be stored is stored with the next one', async () => {
  const activity = new EndpointActivity();
  activity.jobEnded(endpointId, 10, 10);
  const figures = activity.take();
  activity.jobEnded(endpointId, 10, 10);
  activity.restore(figures);
  expect([...activity.take().values()][0]!.waits).toEqual(new Map([[54, 2]]));
});

test('workers, cold starts, GPU seconds and cost belong to the endpoint, its pool and the installation', async () => {
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, gpu_pool, created_at, ready_at)
     values ('w1', $1, 'user', 1, '', '{}', 'RUNNING', 'ADA_24', $2, $3), ('w2', $1, 'user', 1, '', '{}', 'PENDING', null, $2, null)`,
    endpointId,
    at(0),
    at(0, 30),
  );
  await sql(
    `insert into usage (starts_at, span, user_id, kind, resource_id, component, item, units, seconds, amount)
     values ($1, 'minute', 'user', 'SERVERLESS', $2, 'GPU', $3, 2, 60, 0.5),
            ($1, 'minute', 'user', 'SERVERLESS', $2, 'DISK', '', 20, 60, 0.25)`,
    at(0),
    endpointId,
    GPU,
  );
  await sql('update usage_meter set metered_until = $1', at(1));
  await write(0);
  await write(1);
  const [first, second] = (await read()).points;
  expect(first!.values).toMatchObject({
    workers_idle: 1,
    workers_initializing: 1,
    cold_starts: 1,
    gpu_seconds: 120,
    amount: 0.75,
  });
  expect(first!.percentiles.start_times!.p50 / 30_000).toBeCloseTo(1, 0);
  expect(second!.values).toMatchObject({ workers_idle: 1, cold_starts: 0, gpu_seconds: 0, amount: 0 });
  const [pool] = (await read({ pool: 'ADA_24' })).points;
  expect(pool!.values).toMatchObject({
    workers_idle: 1,
    workers_initializing: 0,
    cold_starts: 1,
    gpu_seconds: 120,
    amount: 0.5,
  });
  const all = await sql(
    "select workers_idle, workers_initializing, amount from history where kind = 'INSTALLATION' order by starts_at",
  );
  expect(all).toEqual([
    { workers_idle: 1, workers_initializing: 1, amount: 0.75 },
    { workers_idle: 1, workers_initializing: 1, amount: 0 },
  ]);
});

test('workers that ended are counted in the minute of their end, lost ones also as such', async () => {
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, gpu_pool, is_lost, exited_at)
     values ('w1', $1, 'user', 1, '', '{}', 'EXITED', 'ADA_24', true, $2), ('w2', $1, 'user', 1, '', '{}', 'EXITED', null, false, $2),
            ('w3', $1, 'user', 1, '', '{}', 'EXITED', null, false, $3)`,
    endpointId,
    at(0, 59),
    at(1),
  );
  await write(0);
  await write(1);
  expect(await values('workers_ended')).toEqual({ 0: 2, 1: 1 });
  expect((await read()).points[0]!.values.workers_lost).toBe(1);
  expect((await read({ pool: 'ADA_24' })).points[0]!.values).toMatchObject({ workers_ended: 1, workers_lost: 1 });
});

test('hours are the sums of their minutes, and the running hour is read from minutes', async () => {
  for (let minute = 0; minute < 72; minute += 6) {
    await count({ completed: 1, in_progress: minute === 0 ? 6 : 0 });
    await report(minute, (activity) => activity.jobEnded(endpointId, 100, 200));
    await write(minute);
  }
  expect(await foldHistory(database.pool)).toBe(false); // its reports may still come
  const before = await read({ range: '24h', step: 3600, now: at(72) });
  await sql('update history_progress set usage_until = $1', at(72));
  await write(75);
  expect(await foldHistory(database.pool)).toBe(true);
  expect(await foldHistory(database.pool)).toBe(false);
  const after = await read({ range: '24h', step: 3600, now: at(72) });
  expect(after).toEqual(before);
  expect(await values('completed', { range: '30d', step: 3600, now: at(72) })).toEqual({ 0: 10, 60: 2 });
  expect(after.points[0]!.values.in_progress).toBeCloseTo(1); // six jobs in ten of sixty minutes
  expect(after.points[0]!.percentiles.waits!.p50 / 100).toBeCloseTo(1, 0);
  expect(await values('completed', { range: '24h', step: 300, now: at(72) })).toMatchObject({ 0: 1, 5: 1, 60: 1 });
});

test('what charts no longer reach is deleted, but no minute before its hour is folded', async () => {
  await count({ completed: 1 });
  await write(0);
  await sql("update history set starts_at = starts_at - interval '26 hours'");
  await deleteOldHistory(database.pool);
  expect(await sql('select from history')).toEqual([]);
  await count({ completed: 1 });
  await write(1);
  await sql("update history set starts_at = starts_at - interval '26 hours'");
  await sql("update history_progress set hours_until = $1::timestamptz - interval '30 hours'", at(0));
  await deleteOldHistory(database.pool);
  expect(await sql("select from history where kind = 'ENDPOINT'")).toHaveLength(1);
  await sql("update history set span = 'hour', starts_at = starts_at - interval '31 days'");
  await deleteOldHistory(database.pool);
  expect(await sql('select from history')).toEqual([]);
  await sql('delete from endpoints where id = $1', endpointId);
  await deleteOldHistory(database.pool);
  expect(await sql('select from history_marks')).toEqual([]);
});
