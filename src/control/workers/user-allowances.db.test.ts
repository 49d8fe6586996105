import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { ControlLoops } from '../../../test/control-loops.ts';
import type { EndpointId } from '../../core/ids.ts';
import { listDecisions } from '../../domain/decisions/list-decisions.ts';
import { writeLimits } from '../../domain/quotas/limit-store.ts';
import { SimulatedWorld } from '../../runtimes/simulated/simulated-world.ts';

vi.setConfig({ testTimeout: 30_000 });

const soon = { timeout: 15_000, interval: 20 };
const HUGE = 2_147_483_647;

let control: ControlLoops;
beforeAll(async () => {
  const gpuTypeId = 'NVIDIA GeForce RTX 4090';
  control = await ControlLoops.start(
    new SimulatedWorld({ pools: [{ pool: 'ADA_24', gpuTypeId, dataCenterId: 'DC-1', total: 100 }] }),
  );
});
afterAll(() => control.close());
beforeEach(async () => {
  await control.sql('delete from jobs');
  await control.sql('delete from endpoint_counters');
  await control.sql('update endpoints set workers_min = 0, workers_max = 0');
  await vi.waitFor(async () => expect(await live()).toBe(0), soon);
  await control.sql('delete from user_limits');
});

const live = async () => (await control.sql("select count(*) from workers where phase <> 'EXITED'"))[0].count;
const startedAt = async (ids: EndpointId[]) =>
  (await control.sql('select count(*) from workers where endpoint_id = any($1)', ids))[0].count;
const reasons = async (id: EndpointId) => {
  const decisions = await listDecisions(control.database.pool, control.userId, id, 100);
  return decisions.map(({ reason }) => reason);
};

async function endpoints(count: number, gpuCount = 1): Promise<EndpointId[]> {
  const made = await Promise.all(
    Array.from({ length: count }, () =>
      control.endpoint({ gpu: { pools: ['ADA_24'], count: gpuCount }, workers: { min: 0, max: HUGE } }),
    ),
  );
  await Promise.all(made.flatMap((id) => Array.from({ length: 6 }, () => control.submit(id))));
  return made;
}

test('endpoints that grow at once never start more than the user’s limit, and the decision says what cut it', async () => {
  await writeLimits(control.database.pool, control.userId, { workers: 7 });
  const ids = await endpoints(5);
  await vi.waitFor(async () => expect(await live()).toBe(7), soon);
  const cut = /^\d jobs at 1 a worker; the user's limit 'workers' of 7 allows \d(, with \d in use elsewhere)?$/;
  await vi.waitFor(async () => {
    for (const id of ids) {
      const isCut = (await startedAt([id])) < 6;
      expect((await reasons(id)).some((reason) => cut.test(reason))).toBe(isCut);
    }
  }, soon);
  expect(await startedAt(ids)).toBe(7);
  await writeLimits(control.database.pool, control.userId, { workers: 9 });
  await vi.waitFor(async () => expect(await live()).toBe(9), soon);
  expect(await startedAt(ids)).toBe(9);
});

test('GPUs at once count with their number per worker', async () => {
  await writeLimits(control.database.pool, control.userId, { gpus: 7 });
  const ids = await endpoints(3, 2);
  await vi.waitFor(async () => expect(await live()).toBe(3), soon);
  await vi.waitFor(async () => {
    const said = (await Promise.all(ids.map(reasons))).flat();
    expect(said.some((reason) => reason.includes("the user's limit 'gpus' of 7 allows"))).toBe(true);
  }, soon);
  expect(await startedAt(ids)).toBe(3);
});

test('a lowered limit ends only workers that one endpoint alone has beyond it', async () => {
  const [first, second] = await endpoints(2);
  await vi.waitFor(async () => expect(await live()).toBe(12), soon);
  await writeLimits(control.database.pool, control.userId, { workers: 4 });
  await vi.waitFor(async () => expect(await live()).toBe(8), soon);
  for (const id of [first!, second!]) {
    const drained = await control.sql(
      "select wanted_reason from workers where endpoint_id = $1 and wanted <> 'RUN'",
      id,
    );
    expect(drained).toEqual(
      Array(2).fill({
        wanted_reason: expect.stringMatching(/^the user's limit 'workers' of 4 allows 4(, with \d in use elsewhere)?$/),
      }),
    );
  }
});

test('another user’s workers do not count', async () => {
  await control.sql("insert into users (id, name) values ('other', 'other')");
  await writeLimits(control.database.pool, null, { workers: 2 });
  const [own, others] = await endpoints(2);
  await control.sql("update endpoints set user_id = 'other' where id = $1", others);
  await vi.waitFor(async () => expect(await startedAt([own!])).toBe(2), soon);
  await vi.waitFor(async () => expect(await startedAt([others!])).toBeGreaterThanOrEqual(2), soon);
});
