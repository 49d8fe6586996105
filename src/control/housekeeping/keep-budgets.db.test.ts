import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { Loop } from '../../core/flow/loop.ts';
import { silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import { meterUsage } from '../../domain/billing/meter-usage.ts';
import { listBudgets } from '../../domain/budgets/budget-store.ts';
import { recordNotices } from '../../domain/budgets/record-notices.ts';
import { JobQueue } from '../../domain/jobs/job-queue.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { WebhookDeliverer } from '../jobs/deliver-webhooks.ts';
import { budgetLoop } from './keep-budgets.ts';

let database: TestDatabase;
let keeper: Loop;
let deliverer: WebhookDeliverer;
const logged: object[] = [];
const arrived: { percent: number; month: string }[] = [];
/** The receiver's next statuses; 200 once it is empty. */
const answers: number[] = [];
const receiver = createServer(async (req, res) => {
  const body = JSON.parse((await req.toArray()).join(''));
  res.statusCode = answers.shift() ?? 200;
  if (res.statusCode === 200) arrived.push(body);
  res.end();
});

beforeAll(async () => {
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  database = await createTestDatabase();
  const { pool, url } = database;
  const bus = new Bus({ pool, databaseUrl: url, processId: 'test', logger: silentLogger });
  const logger = { ...silentLogger, warn: (fields: object) => void logged.push(fields) };
  keeper = budgetLoop({ pool, bus, logger });
  const queue = new JobQueue({ pool, processId: 'test', limits: { resultRetentionMs: 1, syncResultRetentionMs: 1 } });
  const webhooks = new WebhookPolicy({ allowPrivate: true, allowed: [] });
  deliverer = new WebhookDeliverer({ pool, bus, logger: silentLogger, queue, tracing: null, webhooks });
  await sql("insert into users (id, name) values ('ann', 'ann'), ('bob', 'bob')");
});
afterAll(async () => {
  await deliverer.stop();
  receiver.close();
  await database.drop();
});
beforeEach(async () => {
  await deliverer.stop();
  for (const table of ['budgets', 'usage_days', 'webhook_deliveries']) await sql(`delete from ${table}`);
  await sql("update usage_meter set metered_until = date_trunc('minute', now())");
  logged.length = arrived.length = answers.length = 0;
});

const sql = async (text: string, ...values: unknown[]) => (await database.pool.query(text, values)).rows;
const MONTH = "date_trunc('month', now() at time zone 'UTC')::date";

async function budget(id: string, set: { amount?: string; action?: string; months?: number; at?: number[] } = {}) {
  const { amount = '100', action = 'NOTIFY', months = 0, at = [80] } = set;
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/${id}`;
  await sql(
    `insert into budgets (id, user_id, owner, amount, action, notify_at, webhook, month, spent)
     values ($1, 'ann', 'USER', $2, $3, $4, $5, (${MONTH} + $6 * interval '1 month')::date, 0)`,
    id,
    amount,
    action,
    at,
    url,
    months,
  );
}

/** `months`: before or after the current one. */
async function spend(amount: string, months = 0): Promise<void> {
  await sql(
    `insert into usage_days values ('ann', (${MONTH} + $2 * interval '1 month')::date, 'SERVERLESS', 'e1', 'e', 0, 0, 0, $1, 0, 0)
     on conflict (user_id, day, kind, resource_id) do update set gpu_amount = usage_days.gpu_amount + excluded.gpu_amount`,
    amount,
    months,
  );
}

const stopped = async () => (await listBudgets(database.pool, null)).map(({ id, isStopped }) => [id, isStopped]);
const thresholds = () =>
  sql('select budget_id as id, percent, amount::float8 as amount from budget_notices n order by n.id');

test('a threshold is reported once a month: in the log, in the list and to the webhook', async () => {
  await budget('b1');
  await spend('79.99');
  await keeper.runOnce();
  expect(logged).toEqual([]);
  await spend('0.01');
  for (const _ of [1, 2, 3]) await keeper.runOnce();
  await spend('50');
  await keeper.runOnce();
  const month = new Date().toISOString().slice(0, 7);
  expect(logged).toEqual([{ budgetId: 'b1', userId: 'ann', month, percent: 80, amount: '100', spent: '80' }]);
  expect(await listBudgets(database.pool, null)).toMatchObject([
    { spent: '130', passed: [80], isStopped: false, month },
  ]);
  deliverer.start();
  await expect.poll(() => arrived).toHaveLength(1);
  expect(arrived[0]).toMatchObject({
    type: 'budget.threshold',
    budgetId: 'b1',
    userId: 'ann',
    endpointId: null,
    month,
    percent: 80,
    amount: '100',
    spent: '80',
    isStopped: false,
  });
});

test('the audit log has that a budget stops, once', async () => {
  await budget('b1', { at: [80, 100], action: 'STOP' });
  await spend('100.123456');
  for (const _ of [1, 2]) await keeper.runOnce();
  const { rows } = await database.pool.query(
    `select actor_kind, owner_id, reason from audit_entries where operation = 'budget.stop' and record_id = 'b1'`,
  );
  expect(rows).toEqual([
    {
      ...{ actor_kind: 'system', owner_id: 'ann' },
      reason: '100.12 of 100.00 USD are spent: no more workers or pods are started',
    },
  ]);
});

test('of thresholds that are passed at once, one notice is sent', async () => {
  await budget('b1', { at: [50, 80, 100] });
  await spend('90');
  await keeper.runOnce();
  await spend('20');
  await keeper.runOnce();
  expect((await thresholds()).map(({ percent }) => percent)).toEqual([50, 80, 100]);
  deliverer.start();
  await expect.poll(() => arrived.map(({ percent }) => percent).sort()).toEqual([100, 80]);
});

test('processes that notice a threshold at once record and send it once', async () => {
  await budget('b1', { action: 'STOP' });
  await spend('100');
  const recorded = await Promise.all(Array.from({ length: 6 }, () => recordNotices(database.pool)));
  expect(
    recorded
      .flat()
      .map(({ percent }) => percent)
      .sort(),
  ).toEqual([100, 80]);
  expect(await sql('select from webhook_deliveries')).toHaveLength(1);
});

test('a notice that is refused is sent again', async () => {
  await budget('b1');
  await spend('90');
  answers.push(503);
  await keeper.runOnce();
  deliverer.start();
  await expect.poll(() => answers).toEqual([]);
  await expect.poll(() => sql('select from webhook_deliveries where attempt = 1')).toHaveLength(1);
  await deliverer.stop();
  await sql('update webhook_deliveries set next_at = now()');
  deliverer.start();
  await expect.poll(() => arrived).toHaveLength(1);
  await expect.poll(() => sql('select from webhook_deliveries')).toHaveLength(0);
});

test('a budget stops once it is used up; raising or removing it lifts that at once', async () => {
  await budget('b1', { action: 'STOP' });
  await spend('99.999999999999');
  await keeper.runOnce();
  expect(await stopped()).toEqual([['b1', false]]);
  await spend('0.000000000001');
  await keeper.runOnce();
  expect(await stopped()).toEqual([['b1', true]]);
  await sql('update budgets set amount = 200');
  expect(await stopped()).toEqual([['b1', false]]);
  await spend('60');
  await keeper.runOnce();
  expect(await thresholds()).toEqual([
    { id: 'b1', percent: 80, amount: 100 },
    { id: 'b1', percent: 100, amount: 100 },
    { id: 'b1', percent: 80, amount: 200 },
  ]);
});

test('the end of a month lifts a stop, before anything was metered or any server ran', async () => {
  await budget('b1', { action: 'STOP', months: -1 });
  await sql('update budgets set spent = 500');
  expect(await stopped()).toEqual([['b1', false]]);
  expect(await listBudgets(database.pool, null)).toMatchObject([{ spent: '0', passed: [] }]);
});

test('a server that was down at the end of a month closes it first, then begins the new one', async () => {
  await budget('late', { action: 'STOP', months: -1 });
  await sql(`update usage_meter set metered_until = ${MONTH}::timestamp at time zone 'UTC' - interval '1 hour'`);
  await spend('85', -1);
  await keeper.runOnce(); // still in the old month
  await spend('20', -1);
  await spend('10');
  await sql("update usage_meter set metered_until = date_trunc('minute', now())"); // metered over the end at once
  await keeper.runOnce();
  const at = (months: number) => sql(`select to_char(${MONTH} + $1 * interval '1 month', 'YYYY-MM') as month`, months);
  const [{ month: last }] = await at(-1);
  const [{ month: current }] = await at(0);
  expect(logged).toMatchObject([
    { percent: 80, month: last },
    { percent: 100, month: last, spent: '105' },
  ]);
  expect(await sql("select from audit_entries where operation = 'budget.stop' and record_id = 'late'")).toEqual([]);
  expect(await listBudgets(database.pool, null)).toMatchObject([
    { month: current, spent: '10', passed: [], isStopped: false },
  ]);
  await spend('80');
  await keeper.runOnce();
  expect(logged).toHaveLength(3);
  expect(logged[2]).toMatchObject({ percent: 80, month: current });
});

test('what is metered counts: a worker’s minutes use up a budget', async () => {
  await budget('b1', { amount: '0.01', action: 'STOP' });
  await sql(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, gpu_type_id, gpu_count, started_at)
     values ('w1', 'e1', 'ann', 1, '', 'RUNNING', '{}', 'NVIDIA GeForce RTX 4090', 1, now() - interval '10 minutes')`,
  );
  await sql("update usage_meter set metered_until = date_trunc('minute', now()) - interval '10 minutes'");
  while (
    !(await meterUsage(
      database.pool,
      [{ tariff: 'SERVERLESS', component: 'GPU', item: 'NVIDIA GeForce RTX 4090', usdPerHour: 6 }],
      new Date(),
    ))
  );
  await keeper.runOnce();
  await sql('delete from workers');
  const crossesMonth = new Date().getUTCDate() === 1 && new Date().getUTCHours() === 0;
  if (!crossesMonth) expect(await stopped()).toEqual([['b1', true]]);
});
