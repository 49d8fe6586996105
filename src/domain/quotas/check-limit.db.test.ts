import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { newEndpoint } from '../../../test/new-endpoint.ts';
import type { Failure } from '../../core/errors.ts';
import { newId, type PodId, type UserId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { createUser } from '../access/users.ts';
import { change } from '../change.ts';
import type { Context } from '../context.ts';
import { createEndpoint } from '../endpoints/create-endpoint.ts';
import { deleteEndpoint } from '../endpoints/delete-endpoint.ts';
import { startPod, stopPod, terminatePod } from '../pods/act-on-pod.ts';
import { createPod } from '../pods/create-pod.ts';
import { insertWorkers } from '../workers/insert-workers.ts';
import { checkOneMore } from './check-limit.ts';
import { writeLimits } from './limit-store.ts';
import { readComputeUse } from './usage.ts';

const STOCK = {
  gpus: [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'LOCAL-1', total: 100, free: 100 }],
  cpus: 64,
  memoryBytes: 2 ** 37,
};

let database: TestDatabase;
let context: Context & { capacity: { read: () => Promise<never> } };
let actor: Actor;
let userId: UserId;
beforeAll(async () => {
  database = await createTestDatabase({ maxConnections: 20 });
  const capacity = { read: async () => STOCK as never };
  context = { pool: database.pool, bus: { publish: () => {} }, capacity };
});
afterAll(() => database.drop());
beforeEach(async () => {
  userId = (await createUser(database.pool, { name: newId(), email: null })).id;
  actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
});

const endpoint = (gpuCount = 1) =>
  change(
    context,
    actor,
    createEndpoint,
    newEndpoint({ gpu: { pools: ['ADA_24'], count: gpuCount }, workers: { min: 0, max: 3 } }),
  );
const pod = (gpuCount = 1) =>
  change(context, actor, createPod, {
    name: 'p',
    image: 'any:v1',
    gpu: { id: 'NVIDIA GeForce RTX 4090', count: gpuCount },
    cpu: null,
    cloud: 'SECURE',
    dataCenterIds: [],
    hasGlobalNetwork: false,
    isPrivate: false,
    templateId: null,
  });

/** How many of the calls succeeded, and the distinct refusals of the others. */
async function outcomes(calls: Promise<unknown>[]): Promise<[number, string[]]> {
  const settled = await Promise.allSettled(calls);
  const refused = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason as Failure] : []));
  return [calls.length - refused.length, [...new Set(refused.map(({ kind, message }) => `${kind}: ${message}`))]];
}

test('of 200 endpoints created at once, the limit is created, and each refusal has the figures', async () => {
  await writeLimits(database.pool, userId, { endpoints: 7 });
  expect(await outcomes(Array.from({ length: 200 }, () => endpoint()))).toEqual([
    7,
    ["forbidden: the limit 'endpoints' allows 7 endpoints; 7 are in use, and this needs 1 more"],
  ]);
  const [first] = (await database.pool.query('select id from endpoints where user_id = $1', [userId])).rows;
  await change(context, actor, deleteEndpoint, { id: first.id });
  expect(await outcomes([endpoint(), endpoint()])).toMatchObject([1, [expect.stringContaining('forbidden')]]);
});

test('of 200 pods created at once, the limit is created; stopped ones count, terminated ones do not', async () => {
  await writeLimits(database.pool, userId, { pods: 5 });
  expect(await outcomes(Array.from({ length: 200 }, () => pod()))).toMatchObject([
    5,
    [expect.stringContaining("'pods' allows 5 pods")],
  ]);
  const { rows } = await database.pool.query<{ id: PodId }>('select id from pods where user_id = $1', [userId]);
  await change(context, actor, stopPod, { id: rows[0]!.id });
  expect((await outcomes([pod()]))[0]).toBe(0);
  await change(context, actor, terminatePod, { id: rows[0]!.id });
  expect((await outcomes([pod()]))[0]).toBe(1);
});

test('GPUs of pods and workers count together, exactly under concurrency; stopping a pod makes room', async () => {
  await writeLimits(database.pool, userId, { gpus: 10 });
  const { id: endpointId } = await endpoint(2);
  const worker = { id: newId<never>(), endpointId, reason: '', pause: null };
  await insertWorkers(database.pool, [worker]);
  const [created, refusals] = await outcomes(Array.from({ length: 20 }, () => pod(3)));
  expect([created, refusals]).toEqual([
    2,
    ["tooManyRequests: the limit 'gpus' allows 10 GPUs at once; 8 are in use, and this needs 3 more"],
  ]);
  expect((await outcomes([pod(11)]))[1]).toEqual(["forbidden: the limit 'gpus' allows 10 GPUs at once; this needs 11"]);
  const { rows } = await database.pool.query<{ id: PodId }>('select id from pods where user_id = $1', [userId]);
  await change(context, actor, stopPod, { id: rows[0]!.id });
  await database.pool.query("update pods set phase = 'EXITED', phase_revision = revision where id = $1", [rows[0]!.id]);
  expect((await outcomes([pod(5)]))[0]).toBe(1);
  expect((await outcomes([change(context, actor, startPod, { id: rows[0]!.id })]))[1]).toEqual([
    "tooManyRequests: the limit 'gpus' allows 10 GPUs at once; 10 are in use, and this needs 3 more",
  ]);
});

test('frozen workers hold nothing of a limit, and waiting ones have no place yet', async () => {
  const { id: endpointId } = await endpoint(2);
  const ids = Array.from({ length: 3 }, () => newId<never>());
  await insertWorkers(
    database.pool,
    ids.map((id) => ({ id, endpointId, reason: '', pause: null })),
  );
  await database.pool.query("update workers set phase = 'RUNNING' where id = $1", [ids[0]]);
  await database.pool.query("update workers set phase = 'FROZEN', wanted = 'FREEZE' where id = $1", [ids[1]]);
  expect((await readComputeUse(database.pool, [userId])).get(userId)).toEqual({
    workers: 2,
    gpus: 4,
    placedWorkers: 1,
    placedGpus: 2,
  });
});

test('pods take no GPUs that the quotas of others hold back, except within their own', async () => {
  const other = (await createUser(database.pool, { name: newId(), email: null })).id;
  await database.pool.query("update pods set wanted = 'TERMINATE', phase = 'EXITED', gone_at = now()");
  await writeLimits(database.pool, other, { gpuQuota: 96 });
  expect(await outcomes([pod(3)])).toEqual([1, []]);
  expect(await outcomes([pod(2)])).toEqual([
    0,
    [
      'badRequest: There are no longer any instances available with what the pod needs: 2 × NVIDIA GeForce RTX 4090, ' +
        'beyond what the quotas of other users hold back.',
    ],
  ]);
  await writeLimits(database.pool, userId, { gpuQuota: 5 });
  expect(await outcomes([pod(2)])).toEqual([1, []]);
  expect((await outcomes([pod(1)]))[0]).toBe(0);
  await writeLimits(database.pool, other, { gpuQuota: 'DEFAULT' });
});

test('one user’s creation does not wait for another user’s', async () => {
  const other = (await createUser(database.pool, { name: newId(), email: null })).id;
  await transaction(database.pool, async (db) => {
    await checkOneMore(db, other, 'endpoints');
    expect((await outcomes([endpoint()]))[0]).toBe(1);
  });
});
