import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts';
import { insertEndpoint } from '../../../../test/insert-endpoint.ts';
import { monotonicClock } from '../../../core/clock.ts';
import type { EndpointId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import { listControlledWorkers } from '../../../domain/workers/worker-lifecycle.ts';
import { createSimulatedRuntime } from '../../../runtimes/simulated/simulated-runtime.ts';
import { CapacityLedger } from './capacity-ledger.ts';
import { placeWorkers } from './place-workers.ts';
import { ReservedGpus } from './reserved-gpus.ts';
import { StartRecords } from './start-records.ts';
import type { PlacementDeps } from './waiting-workers.ts';

const place = { pool: 'ADA_24', dataCenterId: 'LOCAL-1' };
let database: TestDatabase;
let deps: PlacementDeps;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("insert into users (id, name) values ('ann', 'ann'), ('bob', 'bob')");
  for (const [id, user] of Object.entries({ chat: 'ann', images: 'ann', theirs: 'bob' })) await endpoint(id, user);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query('delete from workers; delete from scaling_decisions');
  const runtime = createSimulatedRuntime({ installation: 'test', gpus: new Map([['ADA_24', 1]]) });
  deps = {
    pool: database.pool,
    bus: { publish: () => {} },
    logger: silentLogger,
    capacity: new CapacityLedger({ pool: database.pool, runtime }),
    records: new StartRecords(database.pool),
    reserved: new ReservedGpus(),
    refused: new Set(),
    monotonic: monotonicClock,
  };
});

const endpoint = (id: string, user: string) =>
  insertEndpoint(database.pool, { id, user_id: user, flashboot: 'FLASHBOOT' });

const SPEC = JSON.stringify({ gpu: { pools: ['ADA_24'], count: 1 }, networkVolumeIds: [], env: {} });

/** Ann's `images` holds the only GPU, and another endpoint has waited for it for five minutes. */
async function contend(other: string, holder: { phase: string; wanted: string }): Promise<void> {
  const insert = (values: unknown[]) =>
    database.pool.query(
      `insert into workers (id, endpoint_id, user_id, version, wanted, wanted_reason, phase, spec, gpu_pool, data_center_id,
         gpu_count, created_at, ready_at, frozen_at)
       values ($1, $2, (select user_id from endpoints where id = $2), 1, $3, 'demand', $4, $5, $6, $7, 1,
         now() - interval '5 minutes', now() - interval '4 minutes', now())`,
      values,
    );
  await insert(['held', 'images', holder.wanted, holder.phase, SPEC, place.pool, place.dataCenterId]);
  await insert(['waiting', other, 'RUN', 'PENDING', SPEC, null, null]);
  const pending = await listControlledWorkers(database.pool, { endpointIds: [other as EndpointId] });
  await placeWorkers(deps, pending, Date.now());
}

async function actions(): Promise<{ kind: string; cause: string; reason: string }[]> {
  const { rows } = await database.pool.query("select actions from scaling_decisions where endpoint_id = 'images'");
  return rows.flatMap((row) => row.actions);
}

test('a preemption is a decision of the endpoint that loses the worker, and names the other one of the same user', async () => {
  await contend('chat', { phase: 'RUNNING', wanted: 'RUN' });
  expect(await actions()).toEqual([
    {
      kind: 'drain',
      workerId: 'held',
      cause: 'PREEMPTED',
      reason: expect.stringMatching(/^its GPUs are needed for endpoint chat, which holds 0 and has waited for 300 s$/),
    },
  ]);
});

test("a preemption for another user's endpoint says no more than that", async () => {
  await contend('theirs', { phase: 'RUNNING', wanted: 'RUN' });
  expect(await actions()).toEqual([
    { kind: 'drain', workerId: 'held', cause: 'PREEMPTED', reason: "its GPUs are needed for another user's endpoint" },
  ]);
});

test('so is an eviction of a frozen worker', async () => {
  await contend('chat', { phase: 'FROZEN', wanted: 'FREEZE' });
  expect(await actions()).toEqual([
    { kind: 'stop', workerId: 'held', cause: 'EVICTED', reason: 'its GPUs are needed for endpoint chat' },
  ]);
});

test('a roll-out has an old worker leave for the new one at once, and keeps what it leaves', async () => {
  await database.pool.query("update endpoints set version = 2 where id = 'images'");
  await contend('images', { phase: 'RUNNING', wanted: 'RUN' });
  await database.pool.query("update endpoints set version = 1 where id = 'images'");
  expect(await actions()).toEqual([
    { kind: 'drain', workerId: 'held', cause: 'OUTDATED', reason: 'version 2 replaces version 1' },
  ]);
  const { rows } = await database.pool.query("select yields_to as to, wanted from workers where id = 'held'");
  expect(rows).toEqual([{ to: 'images', wanted: 'DRAIN' }]);
});

/** Ended starts of an endpoint. */
const failed = (endpointId: string, count: number) =>
  database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted, wanted_reason, phase, spec, gpu_count, is_lost, exited_at)
     select $1 || n, $1, 'ann', 1, 'RUN', '', 'EXITED', '{}', 1, true, now() from generate_series(1, $2) n`,
    [endpointId, count],
  );

test('an endpoint whose last two starts failed has nobody preempted and nobody evicted', async () => {
  await failed('chat', 2);
  await contend('chat', { phase: 'RUNNING', wanted: 'RUN' });
  expect(await actions()).toEqual([]);
  await database.pool.query("delete from workers where phase <> 'EXITED'");
  await contend('chat', { phase: 'FROZEN', wanted: 'FREEZE' });
  expect(await actions()).toEqual([]);
});

test('after one failed start frozen workers give way, but no working one is preempted', async () => {
  await failed('chat', 1);
  await contend('chat', { phase: 'RUNNING', wanted: 'RUN' });
  expect(await actions()).toEqual([]);
  await database.pool.query("delete from workers where phase <> 'EXITED'");
  await contend('chat', { phase: 'FROZEN', wanted: 'FREEZE' });
  expect(await actions()).toMatchObject([{ cause: 'EVICTED' }]);
});

test('an endpoint is not preempted twice in five minutes for the same need; a need that was met is over', async () => {
  const earlier = (id: string, endpointId: string, columns: string) =>
    database.pool.query(
      `insert into workers (id, endpoint_id, user_id, version, wanted, wanted_reason, phase, spec, gpu_count, exited_at, ${columns})
       select $1, $2, 'ann', 1, 'DRAIN', '', 'EXITED', '{}', 1, now(), now() - interval '3 minutes' ${
         columns === 'ready_at' ? '' : ", 'chat', 1"
       }`,
      [id, endpointId],
    );
  await earlier('gave', 'images', 'drain_at, yields_to, yields_level');
  await contend('chat', { phase: 'RUNNING', wanted: 'RUN' });
  expect(await actions()).toEqual([]);
  await database.pool.query("delete from workers where phase <> 'EXITED'");
  await database.pool.query("update workers set drain_at = now() - interval '4 minutes' where id = 'gave'");
  await earlier('served', 'chat', 'ready_at');
  await contend('chat', { phase: 'RUNNING', wanted: 'RUN' });
  expect(await actions()).toMatchObject([{ cause: 'PREEMPTED' }]);
});

test('a user within the quota gets back at once what another one borrows', async () => {
  await database.pool.query("insert into user_limits (user_id, name, value) values ('bob', 'gpuQuota', 1)");
  await contend('theirs', { phase: 'RUNNING', wanted: 'RUN' });
  await database.pool.query('delete from user_limits');
  expect(await actions()).toMatchObject([
    { cause: 'PREEMPTED', reason: "its GPUs are needed for another user's endpoint" },
  ]);
});
