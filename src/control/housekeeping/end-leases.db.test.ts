import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { Loop } from '../../core/flow/loop.ts';
import { type EndpointId, newId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import { type Actor, systemActor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { createEndpoint } from '../../domain/endpoints/create-endpoint.ts';
import { endLease, renewLease } from '../../domain/leases/endpoint-lease.ts';
import { leaseLoop } from './end-leases.ts';

let database: TestDatabase;
let bus: Bus;
let actor: Actor;
let loop: Loop | undefined;
beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: 'test', logger: silentLogger });
  actor = systemActor((await createUser(database.pool, { name: newId(), email: null })).id);
});
afterEach(async () => {
  await loop?.stop();
  await database.pool.query('delete from endpoints');
});
afterAll(() => database.drop());

const context = () => ({ pool: database.pool, bus });
const create = async (leaseSeconds?: number): Promise<EndpointId> => {
  const { id } = await change(context(), actor, createEndpoint, {
    ...{ name: 'app-dev', type: 'QUEUE_BASED', image: 'i', templateId: null, gpu: null },
    ...{ cpu: [{ id: 'cpu3c', vcpuCount: 2 }], workers: { min: 1, max: 1 }, dataCenterIds: [], networkVolumeIds: [] },
    ...{ scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeoutSeconds: 60 }, timeoutMs: 0, flashboot: 'OFF' },
    ...(leaseSeconds !== undefined && { leaseSeconds }),
  });
  return id;
};
const expire = (id: string) =>
  database.pool.query("update endpoint_leases set ends_at = now() - interval '1 second' where endpoint_id = $1", [id]);
const left = async () =>
  (await database.pool.query<{ id: string }>('select id from endpoints order by id')).rows.map(({ id }) => id);
const start = (graceMs: number) => {
  loop = leaseLoop({ pool: database.pool, bus, logger: silentLogger }, { graceMs });
  loop.start();
};

test('an endpoint goes when its lease ends; renewed ones and those without a lease stay', async () => {
  const [ended, renewed, kept] = [await create(60), await create(60), await create()];
  await expire(ended);
  start(0);
  await expect.poll(left).toEqual([renewed, kept].toSorted());
  await change(context(), actor, renewLease, { id: renewed, seconds: 5 });
  expect(await left()).toEqual([renewed, kept].toSorted());
});

test('a lease that was renewed in the last moment does not end', async () => {
  const id = await create(60);
  await expire(id);
  await change(context(), actor, renewLease, { id, seconds: 60 });
  expect(await change(context(), actor, endLease, { id })).toBe(false);
  expect(await left()).toEqual([id]);
});

test('a leader that has just begun gives clients time to renew', async () => {
  const id = await create(60);
  await expire(id);
  start(3_600_000);
  const other = await create(60); // wakes it
  expect(await left()).toEqual([id, other].toSorted());
  await loop!.stop();
  expect(await left()).toEqual([id, other].toSorted());
  start(0);
  await expect.poll(left).toEqual([other]);
});

test('an endpoint that cannot be deleted holds up no other', async () => {
  const [stuck, other] = [await create(60), await create(60)];
  const { pool } = database;
  await pool.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'stuck'; end $$`);
  await pool.query(
    `create trigger refuse before delete on endpoints for each row when (old.id = '${stuck}') execute function refuse()`,
  );
  for (const id of [stuck, other]) await expire(id);
  start(0);
  await expect.poll(left).toEqual([stuck]);
  await pool.query('drop function refuse cascade');
});
