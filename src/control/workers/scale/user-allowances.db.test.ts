import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { ControlLoops } from '../../../../test/control-loops.ts';
import type { EndpointId, UserId } from '../../../core/ids.ts';
import { listDecisions } from '../../../domain/decisions/record-decision.ts';
import { listEndpointDemand } from '../../../domain/endpoints/endpoint-demand.ts';
import { readEndpointUsers, readUses } from '../../../domain/quotas/endpoint-users.ts';
import { writeLimits } from '../../../domain/quotas/limit-store.ts';
import { SimulatedWorld } from '../../../runtimes/simulated/simulated-world.ts';

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
  const former = await control.sql('update endpoints set workers_min = 0, workers_max = 0 returning id');
  for (const { id } of former) control.notify(id);
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

const endpoint = (gpuCount = 1) =>
  control.endpoint({ gpu: { pools: ['ADA_24'], count: gpuCount }, workers: { min: 0, max: HUGE } });

async function endpoints(count: number, gpuCount = 1): Promise<EndpointId[]> {
  const made = await Promise.all(Array.from({ length: count }, () => endpoint(gpuCount)));
  await Promise.all(made.map(submitSix));
  return made;
}

const submitSix = (id: EndpointId) => Promise.all(Array.from({ length: 6 }, () => control.submit(id)));

/** Keeps everybody from inserting workers of an endpoint until it is released. */
async function lockEndpoint(id: EndpointId): Promise<{ release: () => Promise<void> }> {
  const client = await control.database.pool.connect();
  await client.query('begin');
  await client.query('select from endpoints where id = $1 for update', [id]);
  let isHeld = true;
  const release = async () => {
    if (!isHeld) return;
    isHeld = false;
    await client.query('rollback');
    client.release();
  };
  onTestFinished(release);
  return { release };
}

const isInserting = async () =>
  (
    await control.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%into workers%'`,
    )
  ).length > 0;

test('endpoints that grow at once never start more than the user’s limit, and the decision says what cut it', async () => {
  await writeLimits(control.database.pool, control.userId, { workers: 7 });
  const ids = await endpoints(5);
  await vi.waitFor(async () => expect(await live()).toBe(7), soon);
  const cut = /^\d jobs? at 1 a worker; the user's limit 'workers' of 7 allows \d(, with \d in use elsewhere)?$/;
  await vi.waitFor(
    async () => {
      for (const id of ids) {
        const started = await startedAt([id]);
        const said = await reasons(id);
        const isSaid = said.some((reason) => cut.test(reason));
        expect(isSaid, `${started} started: ${said.join(' | ')}`).toBe(started < 6);
      }
    },
    { ...soon, timeout: 30_000 },
  ); // a sweep finds what a lost hint did not name
  expect(await startedAt(ids)).toBe(7);
  await writeLimits(control.database.pool, control.userId, { workers: 9 });
  await vi.waitFor(async () => expect(await live()).toBe(9), soon);
  expect(await startedAt(ids)).toBe(9);
});

test('while workers of a user are being written, nothing is said about what they leave', async () => {
  await control.sql("insert into users (id, name) values ('bystander', 'bystander')");
  await writeLimits(control.database.pool, control.userId, { workers: 1 });
  const env = { KEY: '{{ RUNPOD_SECRET_none }}' }; // so that they are inserted without places, which would have others wait
  const [first, second, bystanders] = await Promise.all([
    control.endpoint({ env, workers: { min: 0, max: HUGE } }),
    endpoint(),
    endpoint(),
  ]);
  await control.sql("update endpoints set user_id = 'bystander' where id = $1", bystanders);
  const lock = await lockEndpoint(first);
  await control.submit(first);
  await vi.waitFor(async () => expect(await isInserting()).toBe(true), soon);
  await control.submit(second);
  await control.submit(bystanders);
  await vi.waitFor(async () => expect(await startedAt([bystanders])).toBe(1), soon); // so `second` was looked at, too
  await lock.release();
  const said = "1 job at 1 a worker; the user's limit 'workers' of 1 allows 0, with 1 in use elsewhere";
  await vi.waitFor(async () => expect(await reasons(second)).toEqual([said]), soon);
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

test('a worker counts with the GPUs of the version that serves', async () => {
  const id = await endpoint(2);
  await control.sql('update endpoints set gpu_count = 4, serving_version = 1 where id = $1', id);
  const demands = await listEndpointDemand(control.database.pool, [id]);
  expect(demands).toMatchObject([{ gpusPerWorker: 2 }]);
  const read = async (ids: UserId[]) =>
    readEndpointUsers(control.database.pool, demands, await readUses(control.database.pool, ids));
  for (const likely of [control.userId, 'other']) expect(await read([likely as UserId])).toEqual(await read([]));
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
  const [own, others] = await Promise.all([endpoint(), endpoint()]);
  await control.sql("update endpoints set user_id = 'other' where id = $1", others);
  await Promise.all([own, others].map(submitSix));
  await vi.waitFor(async () => expect(await startedAt([own])).toBe(2), soon);
  await vi.waitFor(async () => expect(await startedAt([others])).toBe(2), soon);
});
