import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../../test/control-loops.ts';
import type { EndpointId } from '../../../core/ids.ts';
import { listDecisions } from '../../../domain/decisions/record-decision.ts';
import { explainWaiting } from '../../../domain/workers/explain-waiting.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';

const soon = { timeout: 15_000, interval: 20 };
const REASON = 'the monthly budget of 5 USD is used up; it is renewed on';

let control: ControlLoops;
beforeAll(async () => {
  const gpuTypeId = 'NVIDIA GeForce RTX 4090';
  control = await ControlLoops.start(
    new SimulatedWorld({ pools: [{ pool: 'ADA_24', gpuTypeId, dataCenterId: 'DC-1', total: 100 }] }),
  );
});
afterAll(() => control.close());
beforeEach(() => control.sql('delete from budgets'));

const stop = (spent: number, endpointId: EndpointId | null = null) =>
  control.sql(
    `insert into budgets (id, user_id, endpoint_id, owner, amount, action, notify_at, month, spent)
     values ('b', $1, $2, 'USER', 5, 'STOP', '{}', date_trunc('month', now() at time zone 'UTC')::date, $3)`,
    control.userId,
    endpointId,
    spent,
  );
const live = async (id: EndpointId) => (await control.workers(id)).length;

test('a used-up budget drains workers and keeps jobs queued; raised, they are worked on again', async () => {
  const id = await control.endpoint({ workers: { min: 1, max: 3 } });
  for (let n = 0; n < 3; n++) await control.submit(id);
  await vi.waitFor(async () => expect(await live(id)).toBe(3), soon);
  await stop(5);
  control.notify(id);
  await vi.waitFor(async () => expect(await live(id)).toBe(0), soon);
  const [drain] = await control.sql(
    "select a ->> 'cause' as cause, a ->> 'reason' as reason from scaling_decisions, jsonb_array_elements(actions) a where endpoint_id = $1 and a ->> 'kind' = 'drain'",
    id,
  );
  expect(drain).toEqual({ cause: 'OVER_BUDGET', reason: expect.stringContaining(REASON) });
  expect(await control.sql("select from jobs where endpoint_id = $1 and status = 'IN_QUEUE'", id)).toHaveLength(3);
  await control.submit(id);
  await vi.waitFor(async () => {
    const [last] = await listDecisions(control.database.pool, control.userId, id, 1);
    expect(last!.reason).toContain(REASON);
  }, soon);
  expect(await live(id)).toBe(0);
  expect(await explainWaiting(control.database.pool, id, true)).toContain(REASON);
  await control.sql('update budgets set amount = 6');
  control.notify(id);
  await vi.waitFor(async () => expect(await live(id)).toBe(3), soon);
});

test('a budget of an endpoint stops that one alone, and one of last month stops nothing', async () => {
  const [over, other] = [await control.endpoint(), await control.endpoint()];
  await stop(5, over);
  await control.submit(over);
  await control.submit(other);
  await vi.waitFor(async () => expect(await live(other)).toBe(1), soon);
  await vi.waitFor(async () => expect(await live(over)).toBe(0), soon); // a decision under way may not know the budget
  await control.sql("update budgets set month = (month - interval '1 month')::date");
  control.notify(over);
  await vi.waitFor(async () => expect(await live(over)).toBe(1), soon);
});

test('a budget that is not used up, or only notifies, changes nothing', async () => {
  const id = await control.endpoint();
  await stop(4.99);
  await control.submit(id);
  await vi.waitFor(async () => expect(await live(id)).toBe(1), soon);
  await control.sql("update budgets set spent = 50, action = 'NOTIFY'");
  const other = await control.endpoint();
  await control.submit(other);
  await vi.waitFor(async () => expect(await live(other)).toBe(1), soon);
  expect(await live(id)).toBe(1);
});
