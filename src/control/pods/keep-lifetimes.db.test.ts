import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { Loop } from '../../core/flow/loop.ts';
import { newId, type PodId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { POD_ACTIONS } from '../../domain/pods/act-on-pod.ts';
import { createPod, type NewPod } from '../../domain/pods/create-pod.ts';
import { getPodRow } from '../../domain/pods/pod-store.ts';
import { setPodLifetime } from '../../domain/pods/set-pod-options.ts';
import { updatePod } from '../../domain/pods/update-pod.ts';
import { createTemplate } from '../../domain/templates/change-template.ts';
import { lifetimeLoop } from './keep-lifetimes.ts';

const MINUTE = 60_000;
const NOON = Date.parse('2099-03-04T12:00:00.000Z');

let database: TestDatabase;
let bus: Bus;
let actor: Actor;
let now: number;
let keeper: Loop;
beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: 'test', logger: silentLogger });
  const { id: userId } = await createUser(database.pool, { name: newId(), email: null });
  actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
});
afterAll(() => database.drop());
beforeEach(() => {
  now = NOON;
  keeper = newKeeper();
});
afterEach(async () => {
  await keeper.stop();
  await database.pool.query('delete from pods');
});

const newKeeper = () => lifetimeLoop({ pool: database.pool, bus, clock: { now: () => now }, logger: silentLogger });
const context = () => ({
  pool: database.pool,
  bus,
  capacity: { read: async () => ({ gpus: [], cpus: 64, memoryBytes: 2 ** 38 }) },
});
const create = async (more: Partial<NewPod> = {}): Promise<PodId> => {
  const pod = await change(context(), actor, createPod, {
    name: 'pod',
    image: 'i:1',
    gpu: null,
    cpu: { id: 'cpu3c', vcpuCount: 2 },
    cloud: 'SECURE',
    dataCenterIds: [],
    hasGlobalNetwork: false,
    isPrivate: false,
    templateId: null,
    ...more,
  });
  return pod.id;
};
const get = (id: PodId) => getPodRow(database.pool, actor.userId, id);
const at = (minutes: number) => new Date(NOON + minutes * MINUTE);
const row = async (id: PodId) => {
  const text = 'select wanted, wanted_reason as reason from pods where id = $1';
  return (await database.pool.query(text, [id])).rows[0];
};

test('a pod is stopped at its time and not before, and the record says why', async () => {
  const id = await create({ stopAt: at(5), terminateAt: at(60) });
  now = NOON + 5 * MINUTE - 1;
  await keeper.runOnce();
  expect(await get(id)).toMatchObject({ status: 'PROVISIONING', stopAt: at(5), statusReason: null });
  now += 1;
  await keeper.runOnce();
  expect(await get(id)).toMatchObject({
    status: 'EXITED',
    statusReason: 'stopAfter was 2099-03-04T12:05:00.000Z',
    stopAt: null,
    terminateAt: at(60),
    costPerHour: 0,
  });
});

test('the audit log has that Podyard stopped it, once', async () => {
  const id = await create({ stopAt: at(5) });
  now = NOON + 5 * MINUTE;
  for (const _ of [1, 2]) await keeper.runOnce();
  const { rows } = await database.pool.query(
    `select actor_kind, owner_id, reason from audit_entries where operation = 'pod.stop' and record_id = $1`,
    [id],
  );
  expect(rows).toEqual([{ actor_kind: 'system', owner_id: actor.userId, reason: expect.stringContaining('stop') }]);
});

test('a pod is terminated at its time, stopped or not, and its template rests', async () => {
  const template = await change({ pool: database.pool, bus }, actor, createTemplate, {
    name: newId(),
    image: 'i:1',
    args: '',
    diskGb: 5,
    ports: [],
    env: {},
    registryId: null,
    persistentMount: null,
    isServerless: false,
    isPublic: false,
    category: 'CPU',
    clientSettings: {},
  });
  const running = await create({ terminateAt: at(5), templateId: template.id });
  const stopped = await create({ terminateAt: at(5) });
  await change(context(), actor, POD_ACTIONS.stop, { id: stopped });
  now = NOON + 6 * MINUTE;
  await keeper.runOnce();
  for (const id of [running, stopped]) {
    await expect(get(id)).rejects.toThrow('Pod not found');
    expect(await row(id)).toEqual({ wanted: 'TERMINATE', reason: 'terminateAfter was 2099-03-04T12:05:00.000Z' });
  }
  const used = await database.pool.query('select last_used_at from templates where id = $1', [template.id]);
  expect(used.rows[0].last_used_at).not.toBeNull();
});

test('a server that was away when a time came does it at its start; a second one does nothing more', async () => {
  const id = await create({ stopAt: at(5) });
  now = NOON + 600 * MINUTE;
  await newKeeper().runOnce();
  const { changedAt } = await get(id);
  await Promise.all([keeper.runOnce(), newKeeper().runOnce()]);
  expect(await get(id)).toMatchObject({ status: 'EXITED', changedAt });
});

test('a locked pod is stopped when it is unlocked', async () => {
  const id = await create({ stopAt: at(5) });
  await change(context(), actor, updatePod, { id, update: { isLocked: true } });
  now = NOON + 6 * MINUTE;
  await keeper.runOnce();
  expect(await get(id)).toMatchObject({ status: 'PROVISIONING', stopAt: at(5) });
  keeper.start();
  await change(context(), actor, updatePod, { id, update: { isLocked: false } }); // its hint wakes the keeper
  await expect.poll(async () => (await get(id)).status).toBe('EXITED');
});

test('a pod that does not run at its time keeps none, and runs on when it is started', async () => {
  const stopped = await create({ stopAt: at(5) });
  await change(context(), actor, POD_ACTIONS.stop, { id: stopped });
  const failed = await create({ stopAt: at(5) });
  await database.pool.query("update pods set phase = 'ERROR', phase_revision = revision where id = $1", [failed]);
  now = NOON + 6 * MINUTE;
  await keeper.runOnce();
  for (const id of [stopped, failed]) {
    expect((await get(id)).stopAt).toBeNull();
    await change(context(), actor, POD_ACTIONS.start, { id });
    await keeper.runOnce();
    expect(await get(id)).toMatchObject({ status: 'PROVISIONING', statusReason: null });
  }
});

test('a pod that was stopped at its time and is started again has no reason left, and runs', async () => {
  const id = await create({ stopAt: at(5) });
  now = NOON + 6 * MINUTE;
  await keeper.runOnce();
  await change(context(), actor, POD_ACTIONS.start, { id });
  await keeper.runOnce();
  expect(await get(id)).toMatchObject({ status: 'PROVISIONING', statusReason: null, stopAt: null });
  await change(context(), actor, POD_ACTIONS.stop, { id });
  expect(await get(id)).toMatchObject({ status: 'EXITED', statusReason: null });
});

test('a change of the time counts from then on, and wakes the keeper', async () => {
  const id = await create({ stopAt: at(600) });
  now = NOON + 5 * MINUTE;
  keeper.start();
  await change(context(), actor, setPodLifetime, { id, lifetime: { stopAt: at(5), terminateAt: null } });
  await expect.poll(async () => (await get(id)).statusReason).toBe('stopAfter was 2099-03-04T12:05:00.000Z');
});

test('of ten thousand pods, those whose time has come are found by an index', async () => {
  await database.pool.query(
    `insert into pods (id, user_id, name, image, args, disk_gb, ports, env, cloud, data_center_ids, data_center_id, has_global_network, cpu, stop_at)
     select 'many' || n, $1, 'm', 'i', '', 5, '{}', '{}', 'SECURE', '{}', 'LOCAL-1', false, '{"id": "cpu3c", "vcpuCount": 2, "memory": 4}',
       case when n % 100 = 0 then $2::timestamptz + n * interval '1 minute' end
     from generate_series(1, 10000) n`,
    [actor.userId, at(0)],
  );
  await database.pool.query('analyze pods');
  const plan = await database.pool.query(
    `explain select id from pods where wanted <> 'TERMINATE' and stop_at <= '${at(1).toISOString()}'`,
  );
  expect(JSON.stringify(plan.rows)).toContain('pods_stop_at');
  now = NOON + 200 * MINUTE;
  await keeper.runOnce();
  const { rows } = await database.pool.query("select count(*)::int from pods where wanted = 'STOP'");
  expect(rows[0].count).toBe(2);
});

test('a pod that cannot be stopped holds up no other', async () => {
  const [stuck, other] = [await create(), await create()];
  for (const id of [stuck, other]) {
    await change(context(), actor, setPodLifetime, { id, lifetime: { stopAt: at(1), terminateAt: null } });
  }
  const { pool } = database;
  await pool.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'stuck'; end $$`);
  await pool.query(
    `create trigger refuse before update on pods for each row when (old.id = '${stuck}') execute function refuse()`,
  );
  now = NOON + 2 * MINUTE;
  await keeper.runOnce();
  expect([await row(stuck), await row(other)]).toMatchObject([{ wanted: 'RUN' }, { wanted: 'STOP' }]);
  await pool.query('drop function refuse cascade');
});
