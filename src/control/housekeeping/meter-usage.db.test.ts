import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { readConfig } from '../../config/config.ts';
import type { Loop } from '../../core/flow/loop.ts';
import { silentLogger } from '../../core/logger.ts';
import { foldUsage, meterUsage } from '../../domain/billing/meter-usage.ts';
import { findGpuType } from '../../domain/catalog/catalog.ts';
import { cleanUpLoop } from './clean-up.ts';
import { usageLoop } from './meter-usage.ts';

const NOON = Date.parse('2026-03-04T12:00:00.000Z');
const MINUTE = 60_000;
const GPU = 'NVIDIA GeForce RTX 4090';
const HOUR_USD = findGpuType(GPU)!.price.secure!;

let database: TestDatabase;
let nowMs: number;
let meter: Loop;
beforeAll(async () => {
  database = await createTestDatabase();
  await query(`insert into users (id, name) values ('ann', 'ann'), ('bob', 'bob')`);
});
beforeEach(async () => {
  await query('delete from usage');
  await query('delete from usage_days');
  await query('delete from workers');
  await query('delete from network_volumes');
  await query('delete from pod_runs');
  await query('delete from pods');
  await query('update usage_meter set metered_until = $1', [new Date(NOON)]);
  meter = newMeter();
});
afterAll(() => database.drop());

const query = (text: string, values: unknown[] = []) => database.pool.query(text, values);
const newMeter = () => usageLoop({ pool: database.pool, logger: silentLogger, clock: { now: () => nowMs } });
const at = (ms: number) => new Date(NOON + ms);

async function meterAt(ms: number, by = meter): Promise<void> {
  nowMs = NOON + ms;
  await by.runOnce();
}

async function insertWorker(
  id: string,
  startedMs: number | null,
  exitedMs: number | null,
  options: { user?: string; endpoint?: string; gpus?: number; spec?: object; cpu?: object } = {},
): Promise<void> {
  const { user = 'ann', endpoint = 'e1', gpus = 1, spec = { diskGb: 20 }, cpu = null } = options;
  await query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, gpu_type_id, gpu_count,
       started_at, exited_at, cpu)
     values ($1, $2, $3, 1, '', $4, $5, $6, $7, $8, $9, $10)`,
    [
      id,
      endpoint,
      user,
      exitedMs === null ? 'RUNNING' : 'EXITED',
      JSON.stringify(spec),
      gpus > 0 ? GPU : null,
      gpus,
      startedMs === null ? null : at(startedMs),
      exitedMs === null ? null : at(exitedMs),
      cpu,
    ],
  );
}

/** Minute, resource, component, units, seconds. */
async function usage(component = 'GPU'): Promise<[string, string, number, number][]> {
  const result = await query(
    `select starts_at, resource_id, units, seconds::float8 as seconds from usage where component = $1 order by 1, 2, 3`,
    [component],
  );
  return result.rows.map((row) => [row.starts_at.toISOString().slice(11, 19), row.resource_id, row.units, row.seconds]);
}

const amountOf = async (component: string) =>
  (await query('select sum(amount)::float8 as amount from usage where component = $1', [component])).rows[0].amount;

test('a worker that ended before it started, by clocks that disagree, costs nothing and stops no meter', async () => {
  await insertWorker('w1', 30_000, 29_000);
  await insertWorker('w2', 60_000, 120_000, { endpoint: 'e2' });
  await meterAt(5 * MINUTE);
  expect(await usage()).toEqual([['12:01:00', 'e2', 1, 60]]);
});

test('a worker is billed from the start of its container until that is gone, minute by minute', async () => {
  await insertWorker('w1', 30_000, 150_500);
  await meterAt(5 * MINUTE);
  expect(await usage()).toEqual([
    ['12:00:00', 'e1', 1, 30],
    ['12:01:00', 'e1', 1, 60],
    ['12:02:00', 'e1', 1, 30.5],
  ]);
  expect(await amountOf('GPU')).toBeCloseTo((120.5 * HOUR_USD) / 3600, 11);
  expect(await amountOf('DISK')).toBeCloseTo((120.5 * 20 * 0.1) / 730 / 3600, 11);
});

test('a worker that started and ended within a minute is billed for those seconds; one that never started for none', async () => {
  await insertWorker('w1', 70_000, 71_250);
  await insertWorker('w2', null, 80_000);
  await meterAt(5 * MINUTE);
  expect(await usage()).toEqual([['12:01:00', 'e1', 1, 1.25]]);
});

test('seconds are added up by GPU type and count, apart for each endpoint and user', async () => {
  await insertWorker('w1', 0, null);
  await insertWorker('w2', 0, 30_000);
  await insertWorker('w3', 0, null, { gpus: 4 });
  await insertWorker('w4', 0, null, { endpoint: 'e2', user: 'bob' });
  await meterAt(MINUTE + 10_000);
  expect(await usage()).toEqual([
    ['12:00:00', 'e1', 1, 90],
    ['12:00:00', 'e1', 4, 60],
    ['12:00:00', 'e2', 1, 60],
  ]);
  expect(await amountOf('GPU')).toBeCloseTo(((90 + 4 * 60 + 60) * HOUR_USD) / 3600, 11);
});

test('a frozen worker is not billed, whether it is thawed later or not', async () => {
  await insertWorker('w1', 0, null);
  await insertWorker('w2', 0, 170_000);
  const freeze = `insert into worker_freezes (worker_id, frozen_at, thawed_at) values ($1, $2, $3)`;
  await query(freeze, ['w1', at(10_000), at(20_000)]);
  await query(freeze, ['w1', at(50_000), at(130_000)]);
  await query(freeze, ['w2', at(61_000), null]);
  await meterAt(3 * MINUTE + 10_000);
  expect(await usage()).toEqual([
    ['12:00:00', 'e1', 1, 40 + 60],
    ['12:01:00', 'e1', 1, 1],
    ['12:02:00', 'e1', 1, 50],
  ]);
});

test('vCPUs of a CPU endpoint are billed at the price of their flavor', async () => {
  const cpu = { id: 'cpu3c', vcpuCount: 4, memory: 8 };
  const spec = { diskGb: 5, cpu: [{ id: 'cpu5c', vcpuCount: 8, memory: 16 }, cpu] };
  await insertWorker('w1', 0, null, { gpus: 0, spec, cpu });
  await meterAt(MINUTE + 10_000);
  expect(await usage('CPU')).toEqual([['12:00:00', 'e1', 4, 60]]);
  expect(await amountOf('CPU')).toBeCloseTo((60 * 4 * 0.036) / 3600, 11);
  expect(await usage()).toEqual([]);
});

test('a network volume is billed by size and tier', async () => {
  await query(
    `insert into network_volumes (id, user_id, name, size_gb, data_center_id, type, created_at)
     values ('v1', 'ann', 'v', 100, 'EU-RO-1', 'HIGH_PERFORMANCE', $1)`,
    [at(15_000)],
  );
  await meterAt(2 * MINUTE + 10_000);
  expect(await usage('HIGH_PERFORMANCE')).toEqual([
    ['12:00:00', 'v1', 100, 45],
    ['12:01:00', 'v1', 100, 60],
  ]);
  expect(await amountOf('HIGH_PERFORMANCE')).toBeCloseTo((105 * 100 * 0.14) / 730 / 3600, 11);
});

test("a pod's runs are billed while they last, and its storage until the pod is gone", async () => {
  await query(
    `insert into pods (id, user_id, name, image, args, disk_gb, ports, env, cpu, cloud, data_center_ids, has_global_network, wanted,
       data_center_id, persistent_size_gb, persistent_path, created_at, gone_at)
     values ('p1', 'ann', 'p', 'i', '', 20, '{}', '{}', '{}', 'SECURE', '{}', false, 'TERMINATE', 'LOCAL-1', 50, '/workspace', $1, $2)`,
    [at(15_000), at(90_000)],
  );
  await query(
    `insert into pod_runs (pod_id, revision, user_id, tariff, gpu_type, gpu_count, vcpus, disk_gb, started_at, ended_at)
     values ('p1', 1, 'ann', 'SECURE', $1, 2, 0, 20, $2, $3)`,
    [GPU, at(30_000), at(45_000)],
  );
  await meterAt(MINUTE + 10_000);
  await meterAt(4 * MINUTE + 10_000);
  expect(await usage()).toEqual([['12:00:00', 'p1', 2, 15]]);
  expect(await usage('DISK')).toEqual([
    ['12:00:00', 'p1', 20, 15],
    ['12:00:00', 'p1', 50, 45],
    ['12:01:00', 'p1', 50, 30],
  ]);
});

test('a minute is closed only once late writes have arrived', async () => {
  await insertWorker('w1', 0, null);
  await meterAt(MINUTE + 4_999);
  expect(await usage()).toEqual([]);
  await meterAt(MINUTE + 5_000);
  expect(await usage()).toHaveLength(1);
});

test('metering again, after a restart or by another leader, changes nothing', async () => {
  await insertWorker('w1', 0, null);
  await meterAt(3 * MINUTE + 10_000);
  const rows = await usage();
  expect(rows).toHaveLength(3);
  await meterAt(3 * MINUTE + 20_000);
  await meterAt(3 * MINUTE + 30_000, newMeter());
  expect(await usage()).toEqual(rows);
});

test('two leaders that meter at the same moment write each minute once', async () => {
  await insertWorker('w1', 0, null);
  nowMs = NOON + 30 * MINUTE;
  const now = new Date(nowMs);
  await Promise.all([
    ...Array.from({ length: 4 }, () => meterUsage(database.pool, [], now)),
    meter.runOnce(),
    newMeter().runOnce(),
  ]);
  expect((await usage()).map((row) => row[3])).toEqual(Array(29).fill(60));
});

test('a late leader catches up day by day, and bills what ended meanwhile up to its end', async () => {
  await insertWorker('w1', 0, null);
  await insertWorker('w2', 0, 90_000, { endpoint: 'e2' });
  nowMs = NOON + 2.5 * 86_400_000;
  expect(await meterUsage(database.pool, [], new Date(nowMs))).toBe(false);
  expect(await meterUsage(database.pool, [], new Date(nowMs))).toBe(false);
  expect(await meterUsage(database.pool, [], new Date(nowMs))).toBe(true);
  const sums = await query(
    `select resource_id, sum(seconds)::float8 as seconds from usage where component = 'GPU' group by 1 order by 1`,
  );
  expect(sums.rows).toEqual([
    { resource_id: 'e1', seconds: 2.5 * 86_400 - 60 },
    { resource_id: 'e2', seconds: 90 },
  ]);
});

test('a clock set back closes no minute twice, and one set forward skips none', async () => {
  await insertWorker('w1', 0, null);
  await meterAt(2 * MINUTE + 10_000);
  await meterAt(-3_600_000);
  expect(await usage()).toHaveLength(2);
  await meterAt(2 * MINUTE + 20_000);
  expect(await usage()).toHaveLength(2);
  await meterAt(62 * MINUTE + 10_000);
  expect((await usage()).map((row) => row[3])).toEqual(Array(62).fill(60));
});

test('minutes that the clock skipped while a leader looked are not charged, and all that passed are', async () => {
  let passedMs = 0;
  const looking = usageLoop({
    pool: database.pool,
    logger: silentLogger,
    clock: { now: () => nowMs },
    monotonic: { now: () => passedMs },
  });
  const lookAt = async (passed: number, jumped: number) => {
    passedMs = passed;
    await meterAt(passed + jumped, looking);
  };
  const DAY = 86_400_000;
  const charged = async () => (await usage()).reduce((sum, row) => sum + row[3], 0);
  await insertWorker('w1', 0, null);
  await insertWorker('w2', 0, 2 * MINUTE + 30_000, { endpoint: 'e2' });
  await lookAt(2 * MINUTE + 10_000, 0);
  await lookAt(3 * MINUTE + 10_000, 20_000); // a step of seconds is no minute
  expect(await charged()).toBe(180 + 150);
  await lookAt(6 * MINUTE + 10_000, DAY + 10_000);
  expect(await charged()).toBe(360 + 150);
  await lookAt(8 * MINUTE + 10_000, 0); // and back: what passes from now on is charged
  await lookAt(60 * MINUTE + 10_000, 0);
  expect(await charged()).toBe(3_600 + 150);
});

test('a clock that was set back is followed, and minutes that come again are not charged again', async () => {
  await insertWorker('w1', 0, null);
  await meterAt(20 * MINUTE + 10_000);
  await meterAt(10 * MINUTE + 10_000);
  await insertWorker('w2', 11 * MINUTE, null, { endpoint: 'e2' });
  await meterAt(14 * MINUTE + 10_000);
  const seconds = async (endpoint: string) =>
    (await usage()).filter(([, id]) => id === endpoint).map(([, , , each]) => each);
  expect(await seconds('e2')).toEqual([60, 60, 60]);
  expect(await seconds('e1')).toEqual(Array(20).fill(60));
});

test('a failed write writes nothing and does not advance the mark', async () => {
  await insertWorker('w1', 0, null);
  await query(`alter table usage add constraint broken check (units < 20)`);
  await meterAt(2 * MINUTE + 10_000);
  expect(await usage()).toEqual([]);
  await query('alter table usage drop constraint broken');
  await meterAt(2 * MINUTE + 20_000);
  expect(await usage()).toHaveLength(2);
});

test('a changed price applies from the time of the change', async () => {
  await insertWorker('w1', 0, null);
  const price = (usdPerHour: number) => [
    { tariff: 'SERVERLESS' as const, component: 'GPU' as const, item: GPU, usdPerHour },
  ];
  await meterUsage(database.pool, price(6), at(MINUTE + 10_000));
  await meterUsage(database.pool, price(12), at(2 * MINUTE + 10_000));
  const amounts = await query(`select amount::float8 as amount from usage where component = 'GPU' order by starts_at`);
  expect(amounts.rows.map((row) => row.amount)).toEqual([0.1, 0.2]);
});

test('old minutes are folded into hours without changing any sum, also when more of the hour arrives later', async () => {
  await insertWorker('w1', 0, 2 * 3_600_000 + 90_000);
  await meterUsage(
    database.pool,
    [{ tariff: 'SERVERLESS', component: 'GPU', item: GPU, usdPerHour: 1 }],
    at(3 * 3_600_000),
  );
  const sum = `select sum(seconds)::float8 as seconds, sum(amount)::float8 as amount from usage where component = 'GPU'`;
  const before = (await query(sum)).rows;
  await foldUsage(database.pool, at(2 * 86_400_000 + 30 * MINUTE)); // of the first hour nothing is old enough yet
  expect(await usage()).toHaveLength(122);
  await foldUsage(database.pool, at(2 * 86_400_000 + 2 * 3_600_000));
  expect((await usage()).slice(0, 3)).toEqual([
    ['12:00:00', 'e1', 1, 3600],
    ['13:00:00', 'e1', 1, 3600],
    ['14:00:00', 'e1', 1, 60],
  ]);
  await query(`update usage set starts_at = starts_at - interval '1 hour' where span = 'minute'`);
  await foldUsage(database.pool, at(2 * 86_400_000 + 2 * 3_600_000));
  expect(await usage()).toEqual([
    ['12:00:00', 'e1', 1, 3600],
    ['13:00:00', 'e1', 1, 3690],
  ]);
  expect((await query(sum)).rows).toEqual(before);
});

test('an exited worker is deleted only once all of it is metered, however late that is', async () => {
  const week = 7 * 86_400_000;
  nowMs = NOON + week;
  const cleaner = cleanUpLoop({
    pool: database.pool,
    clock: { now: () => nowMs },
    logger: silentLogger,
    limits: readConfig({}, {}).limits,
  });
  await insertWorker('w1', 0, 90_000);
  const workers = async () => (await query('select from workers')).rowCount;
  await cleaner.runOnce();
  expect(await workers()).toBe(1);
  for (let i = 0; i < 8; i++) await meter.runOnce();
  await cleaner.runOnce();
  expect(await workers()).toBe(0);
  expect((await query(`select sum(seconds)::float8 as s from usage where component = 'GPU'`)).rows).toEqual([
    { s: 90 },
  ]);
});

test('a day has the newest name of what it cost, also once that is deleted', async () => {
  await insertEndpoint(database.pool, { id: 'e1', user_id: 'ann', name: 'first' });
  await insertWorker('w1', 0, null);
  const nameAfter = async (minutes: number) => {
    await meterAt(minutes * MINUTE);
    return (await query('select name from usage_days')).rows.map(({ name }) => name);
  };
  expect(await nameAfter(5)).toEqual(['first']);
  await query("update endpoints set name = 'second'");
  expect(await nameAfter(10)).toEqual(['second']);
  await query('delete from endpoints');
  expect(await nameAfter(15)).toEqual(['second']);
});

test('days hold exactly what minutes do, across restarts, folding and midnight', async () => {
  await query('update usage_meter set metered_until = $1', [at(0)]);
  await insertWorker('w1', 0, 13 * 60 * MINUTE); // until 01:00 of the next day
  await insertWorker('w2', 30_000, 90_000, { user: 'bob', endpoint: 'e2', gpus: 2 });
  await meterAt(5 * MINUTE);
  await meterAt(5 * MINUTE, newMeter());
  await meterAt(14 * 60 * MINUTE);
  await foldUsage(database.pool, at(72 * 60 * MINUTE));
  const sums = async (table: string, day: string) =>
    (
      await query(
        `select ${day} as day, user_id, resource_id, sum(gpu) as gpu, sum(storage) as storage from (
           select *, ${
             table === 'usage'
               ? "case when component = 'GPU' then amount else 0 end as gpu, case when component = 'DISK' then amount else 0 end as storage"
               : 'gpu_amount as gpu, storage_amount as storage'
           } from ${table}) t group by 1, 2, 3 order by 1, 2, 3`,
      )
    ).rows;
  const byDay = await sums('usage_days', 'day::text');
  expect(byDay).toEqual(await sums('usage', "(starts_at at time zone 'UTC')::date::text"));
  expect(byDay.map(({ day, resource_id }) => [day, resource_id])).toEqual([
    ['2026-03-04', 'e1'],
    ['2026-03-04', 'e2'],
    ['2026-03-05', 'e1'],
  ]);
  const { rows } = await query("select gpu_seconds::float8 as seconds from usage_days where resource_id = 'e2'");
  expect(rows).toEqual([{ seconds: 120 }]);
});
