import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { type ClusterId, newId, type PodId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import { Bus } from '../../db/bus.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import { meterUsage } from '../../domain/billing/meter-usage.ts';
import { currentPrices } from '../../domain/billing/price-list.ts';
import { change } from '../../domain/change.ts';
import { deleteCluster } from '../../domain/clusters/change-cluster.ts';
import { deleteOldClusters } from '../../domain/clusters/cluster-lifecycle.ts';
import { getCluster } from '../../domain/clusters/cluster-store.ts';
import { createCluster, type NewCluster } from '../../domain/clusters/create-cluster.ts';
import { POD_ACTIONS } from '../../domain/pods/act-on-pod.ts';
import { createPod } from '../../domain/pods/create-pod.ts';
import { deleteOldPods } from '../../domain/pods/pod-lifecycle.ts';
import { getPodRow, listClusterPodRows } from '../../domain/pods/pod-store.ts';
import { writeLimits } from '../../domain/quotas/limit-store.ts';
import { type GroupNetworks, NoCapacity, type Runtime, type WorkloadSpec } from '../../runtimes/runtime.ts';
import { createSimulatedRuntime } from '../../runtimes/simulated/simulated-runtime.ts';
import { type Behaviour, SimulatedWorld } from '../../runtimes/simulated/simulated-world.ts';
import { PodRunner } from '../pods/run-pods.ts';
import { LogCollector } from '../workloads/collect-logs.ts';
import { NO_HUB } from '../workloads/workload-hub.ts';
import { WorkloadMounts } from '../workloads/workload-mounts.ts';
import { ClusterRunner } from './run-clusters.ts';

const GPU = 'NVIDIA GeForce RTX 4090';
const secretBox = createSecretBox(randomBytes(32));

let database: TestDatabase;
let bus: Bus;
let actor: Actor;
beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: 'test', logger: silentLogger });
});
afterAll(() => database.drop());

/** Behaviour of the simulated world; tests set it before they act. */
let behave: (spec: WorkloadSpec) => Partial<Behaviour>;
/** True for workloads whose start finds no place. */
let hasNoPlace: (spec: WorkloadSpec) => boolean;
let now: number;
let started: WorkloadSpec[];
let networks: Set<string>;
let isNetworkStuck: boolean;
let world: SimulatedWorld;
let runtime: Runtime;
let pods: PodRunner;
let clusters: ClusterRunner;
let logs: LogCollector;

beforeEach(async () => {
  const { id: userId } = await createUser(database.pool, { name: newId(), email: null });
  actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
  behave = () => ({});
  hasNoPlace = () => false;
  isNetworkStuck = false;
  now = Date.now();
  started = [];
  networks = new Set();
  world = new SimulatedWorld({
    behave: (spec) => {
      started.push(spec);
      return behave(spec);
    },
    pools: [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 6 }],
  });
  runtime = withNetworks(createSimulatedRuntime({ installation: 'test', world }));
  lead();
});
afterEach(async () => {
  await stopLeading();
  await runtime.close();
  await database.pool.query('truncate pods, clusters, pod_runs, usage cascade');
});

/** Records the networks, and fails starts as a scheduler does that finds no node. */
function withNetworks(real: Runtime): Runtime {
  const groups: GroupNetworks = {
    ensure: async ({ id }) => {
      networks.add(id);
      const addressOf = (rank: number) => `198.18.5.${rank + 2}`;
      return { cidr: '198.18.5.0/24', primary: addressOf(0), port: 29_500, interfaceName: 'eth1', addressOf };
    },
    remove: async (id) => {
      if (isNetworkStuck) throw new Error('network has active endpoints');
      networks.delete(id);
    },
    list: async () => [...networks],
  };
  const start: Runtime['start'] = (spec, options) =>
    hasNoPlace(spec) ? Promise.reject(new NoCapacity('no node has 1 GPU free')) : real.start(spec, options);
  const own: Partial<Runtime> = { groups, start };
  return new Proxy(real, {
    get: (target, name) => {
      if (Object.hasOwn(own, name)) return own[name as keyof Runtime];
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

/** Starts a control process that takes over, as after a crash of the previous one. */
function lead(): void {
  const { pool } = database;
  const clock = { now: () => now };
  const parts = { pool, bus, clock, runtime, logger: silentLogger };
  logs = new LogCollector({ pool, bus, runtime, logger: silentLogger });
  pods = new PodRunner({
    ...parts,
    logs,
    mounts: new WorkloadMounts({ pool, storage: null }),
    secretBox,
    perGpu: { cpus: 'auto', memory: 'auto' },
    publishIp: '127.0.0.1',
    publicUrl: null,
    hub: NO_HUB,
    graceMs: 1_000,
  });
  clusters = new ClusterRunner(parts);
  logs.start();
  pods.start();
  clusters.start();
}

async function stopLeading(): Promise<void> {
  await clusters.stop();
  await pods.stop();
  await logs.stop();
}

const context = () => {
  const read = async () => ({ gpus: world.gpus(), cpus: world.cpus, memoryBytes: world.memoryBytes });
  return { pool: database.pool, bus, capacity: { read } };
};
const create = (more: Partial<NewCluster> = {}) =>
  change(context(), actor, createCluster, {
    name: 'training',
    type: 'TRAINING',
    image: 'an/image:1',
    gpuTypeId: GPU,
    gpusPerPod: 1,
    podCount: 3,
    dataCenterIds: [],
    templateId: null,
    ...more,
  });
const createOwnPod = (count: number) =>
  change(context(), actor, createPod, {
    name: 'pod',
    image: 'an/image:1',
    gpu: { id: GPU, count },
    cpu: null,
    cloud: 'SECURE',
    dataCenterIds: [],
    hasGlobalNetwork: false,
    isPrivate: false,
    templateId: null,
  });
const get = (id: ClusterId) => getCluster(database.pool, actor.userId, id);
const members = (id: ClusterId) => listClusterPodRows(database.pool, actor.userId, id);
const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);
const running = () => [...world.workloads.values()].filter(({ ended }) => ended === null).length;
const isGone = async (id: ClusterId) =>
  (await sql('select gone_at from clusters where id = $1', id))[0].gone_at !== null;

async function until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + 8_000; !(await isSo()); await sleep(10)) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
  }
}
const phaseIs = (id: ClusterId, phase: string) =>
  until(`cluster is ${phase}`, async () => (await get(id)).phase === phase);

test('all pods start, on one network, and know their rank and the primary', async () => {
  const { id } = await create({ gpusPerPod: 2, env: { NODE_RANK: '9', NCCL_SOCKET_IFNAME: 'mine' } });
  await phaseIs(id, 'RUNNING');
  expect(await get(id)).toMatchObject({ dataCenterId: 'LOCAL-1', cidr: '198.18.5.0/24', podsByStatus: { RUNNING: 3 } });
  expect([...networks]).toEqual([id]);
  const rows = await members(id);
  expect(rows.map(({ name, cluster, actions, costPerHour }) => ({ name, cluster, actions, costPerHour }))).toEqual(
    [0, 1, 2].map((rank) => ({
      name: `training-${rank}`,
      cluster: { id, rank, ip: `198.18.5.${rank + 2}` },
      actions: [],
      costPerHour: rows[0]!.costPerHour,
    })),
  );
  expect(rows[0]!.costPerHour).toBeGreaterThan(0);
  const byRank = started.toSorted((a, b) => a.group!.rank - b.group!.rank);
  for (const [rank, spec] of byRank.entries()) {
    expect(spec).toMatchObject({ id: rows[rank]!.id, group: { id, rank }, gpu: { pool: 'ADA_24', count: 2 } });
    expect(spec.env).toMatchObject({
      NODE_RANK: String(rank),
      NUM_NODES: '3',
      NUM_TRAINERS: '2',
      WORLD_SIZE: '6',
      MASTER_ADDR: '198.18.5.2',
      MASTER_PORT: '29500',
      PRIMARY_ADDR: '198.18.5.2',
      PRIMARY_PORT: '29500',
      HOST_NODE_ADDR: '198.18.5.2:29500',
      NODE_ADDR: `198.18.5.${rank + 2}`,
      NCCL_SOCKET_IFNAME: 'mine',
      GLOO_SOCKET_IFNAME: 'eth1',
    });
  }
});

test('without room for all, no pod starts; with it, all do', async () => {
  const own = await createOwnPod(4);
  const { id } = await create();
  await until('it has a reason', async () => (await get(id)).phaseReason !== null);
  expect(await get(id)).toMatchObject({
    phase: 'WAITING',
    dataCenterId: null,
    podsByStatus: { PROVISIONING: 3 },
    phaseReason: expect.stringMatching(
      /^it waits for a place: .*1 × NVIDIA GeForce RTX 4090 for each of 3 pods, all at once/,
    ),
  });
  const [first] = await members(id);
  expect(first).toMatchObject({ costPerHour: 0, statusReason: expect.stringContaining('it waits for a place') });
  expect(started.filter(({ group }) => group)).toEqual([]);
  await change(context(), actor, POD_ACTIONS.terminate, { id: own.id });
  await phaseIs(id, 'RUNNING');
});

test('two clusters that fit only one at a time never share the room', async () => {
  const made = await Promise.all([create({ podCount: 4 }), create({ podCount: 4 })]);
  const ids = made.map(({ id }) => id);
  const phases = async () => (await Promise.all(ids.map(get))).map(({ phase }) => phase).toSorted();
  await until('one runs, one waits', async () => (await phases()).join() === 'RUNNING,WAITING');
  expect(running()).toBe(4);
  const phaseOf = await Promise.all(ids.map(async (id) => ({ id, phase: (await get(id)).phase })));
  await change(context(), actor, deleteCluster, { id: phaseOf.find(({ phase }) => phase === 'RUNNING')!.id });
  await phaseIs(phaseOf.find(({ phase }) => phase === 'WAITING')!.id, 'RUNNING');
});

test('a limit on GPUs makes a cluster wait; one it can never meet is refused', async () => {
  await writeLimits(database.pool, actor.userId, { gpus: 3 });
  await expect(create({ podCount: 5 })).rejects.toMatchObject({
    kind: 'forbidden',
    message: "the limit 'gpus' allows 3 GPUs at once; this needs 5",
  });
  await createOwnPod(2);
  const { id } = await create();
  await until('it waits', async () => (await get(id)).phaseReason !== null);
  expect((await get(id)).phaseReason).toBe(
    "it waits for a place: the limit 'gpus' allows 3 GPUs at once; 2 are in use, and this needs 3 more",
  );
  await writeLimits(database.pool, actor.userId, { gpus: 5 });
  await phaseIs(id, 'RUNNING');
});

test('all pods count as pods of the user, waiting ones too', async () => {
  await writeLimits(database.pool, actor.userId, { pods: 4 });
  await create({ gpusPerPod: 2 });
  await expect(create({ podCount: 2 })).rejects.toMatchObject({
    kind: 'forbidden',
    message: "the limit 'pods' allows 4 pods; 3 are in use, and this needs 2 more",
  });
});

test('a cluster that would not fit even alone is refused in words clients know', async () => {
  await expect(create({ podCount: 7 })).rejects.toMatchObject({
    kind: 'badRequest',
    message: expect.stringMatching(/^There are no longer any instances available .* not even if nothing else ran/),
  });
  expect(await sql('select from clusters where user_id = $1', actor.userId)).toEqual([]);
});

test('when one pod finds no place, all give theirs back, and are placed again after a pause', async () => {
  hasNoPlace = ({ group }) => group?.rank === 2;
  const { id } = await create();
  await until('it was put back', async () =>
    /not all pods had a place: rank 2/.test((await get(id)).phaseReason ?? ''),
  );
  const held = () =>
    sql("select from pods where cluster_id = $1 and (wanted = 'RUN' or phase in ('STARTING', 'RUNNING'))", id);
  await until('nothing is held', async () => (await held()).length === 0);
  expect(running()).toBe(0);
  await createOwnPod(6); // all of them are free
  await sql("update pods set wanted = 'TERMINATE' where cluster_id is null");
  hasNoPlace = () => false;
  now += 1_000;
  bus.publish('cluster', id);
  await phaseIs(id, 'RUNNING');
});

test('a pod that ends starts again alone: same rank, same address, and the others run on', async () => {
  behave = ({ group }) => (group?.rank === 1 && started.length <= 3 ? { exitAfterMs: 50, exitCode: 1 } : {});
  const { id } = await create();
  await until('it started again', () => started.length === 4);
  await phaseIs(id, 'RUNNING');
  expect(started[3]).toMatchObject({ group: { id, rank: 1 } });
  const { RUNPOD_API_KEY: key, ...env } = started[3]!.env;
  const { RUNPOD_API_KEY: former, ...before } = started.find(({ group }) => group?.rank === 1)!.env;
  expect(env).toEqual(before);
  expect(key).not.toBe(former); // each container has its own
  expect(await get(id)).toMatchObject({ phaseReason: null, podsByStatus: { RUNNING: 3 } });
});

test('a pod that cannot be started stops the others, for good', async () => {
  behave = ({ group }) => (group?.rank === 1 ? { startFailure: 'its command is missing' } : {});
  const { id } = await create();
  await phaseIs(id, 'FAILED');
  await until('nothing runs', () => running() === 0);
  await until('all have ended', async () => (await get(id)).podsByStatus.EXITED === 2);
  const cluster = await get(id);
  const reason = 'the pod of rank 1 failed: its command is missing; all pods were stopped';
  expect(cluster).toMatchObject({ phaseReason: reason, podsByStatus: { ERROR: 1, EXITED: 2 } });
  const rows = await members(id);
  expect(rows.map(({ statusReason }) => statusReason)).toEqual([reason, 'its command is missing', reason]);
  expect(rows.map(({ costPerHour }) => costPerHour)).toEqual([0, 0, 0]);
  const entries = 'select actor_kind, reason from audit_entries where record_id = $1 and operation = $2';
  expect(await sql(entries, id, 'cluster.fail')).toEqual([{ actor_kind: 'system', reason }]);
  await createOwnPod(6); // their GPUs are free
});

test('a deleted cluster is gone with its containers, then its network', async () => {
  const { id } = await create();
  await phaseIs(id, 'RUNNING');
  isNetworkStuck = true;
  await change(context(), actor, deleteCluster, { id });
  await expect(get(id)).rejects.toMatchObject({ kind: 'notFound' });
  await expect(change(context(), actor, deleteCluster, { id })).rejects.toMatchObject({ kind: 'notFound' });
  await until('nothing runs', () => running() === 0);
  expect([...networks]).toEqual([id]);
  expect(await isGone(id)).toBe(false);
  isNetworkStuck = false;
  bus.publish('cluster', id);
  await until('it is gone', () => isGone(id));
  expect([...networks]).toEqual([]);
  expect(await sql('select from pods where gone_at is null')).toEqual([]);
});

test('the addresses of all pods are known once there is room, before an image is pulled', async () => {
  await pods.stop();
  const { id } = await create();
  await until('addresses', async () => (await members(id)).every(({ cluster }) => cluster!.ip !== null));
  expect((await members(id)).map(({ cluster }) => cluster!.ip)).toEqual(['198.18.5.2', '198.18.5.3', '198.18.5.4']);
  expect(started).toEqual([]);
});

test('a cluster deleted while it waits is gone at once', async () => {
  await createOwnPod(6);
  const { id } = await create();
  await until('it waits', async () => (await get(id)).phaseReason !== null);
  await change(context(), actor, deleteCluster, { id });
  await until('it is gone', () => isGone(id));
});

test('a killed leader: the next one finishes a deletion, adopts pods, and removes networks nobody has', async () => {
  const [kept, deleted] = await Promise.all([create(), create()]);
  await Promise.all([phaseIs(kept.id, 'RUNNING'), phaseIs(deleted.id, 'RUNNING')]);
  await stopLeading();
  await change(context(), actor, deleteCluster, { id: deleted.id });
  networks.add('left-behind');
  started = [];
  lead();
  await until('it is gone', () => isGone(deleted.id));
  await until('networks are removed', () => networks.size === 1);
  expect([...networks]).toEqual([kept.id]);
  await phaseIs(kept.id, 'RUNNING');
  expect(started).toEqual([]);
  expect(running()).toBe(3);
});

test('a pod of a cluster is not changed, stopped or terminated alone', async () => {
  const { id } = await create();
  const [first] = await members(id);
  for (const action of ['start', 'stop', 'restart', 'terminate'] as const) {
    await expect(change(context(), actor, POD_ACTIONS[action], { id: first!.id })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining(`rank 0 of cluster '${id}'`),
    });
  }
  expect((await getPodRow(database.pool, actor.userId, first!.id as PodId)).cluster?.rank).toBe(0);
});

test('a cluster is charged as one, for the time its pods run', async () => {
  const { id } = await create({ gpusPerPod: 2 });
  await phaseIs(id, 'RUNNING');
  expect(await sql('select pod_id, revision, started_at, ended_at from pod_runs')).toHaveLength(3);
  await sql("update pod_runs set started_at = date_trunc('minute', now()) - interval '2 minutes'");
  await sql("update usage_meter set metered_until = date_trunc('minute', now()) - interval '2 minutes'");
  await meterUsage(database.pool, currentPrices(), new Date(Date.now() + 6_000));
  const usage = await sql(
    `select kind, resource_id, component, units, sum(seconds)::int as seconds, sum(amount)::float8 > 0 as "isCharged"
     from usage where user_id = $1 and starts_at < date_trunc('minute', now()) group by 1, 2, 3, 4 order by 3`,
    actor.userId,
  );
  const row = { kind: 'CLUSTER', resource_id: id, seconds: 3 * 120, isCharged: true };
  expect(usage).toEqual([
    { ...row, component: 'DISK', units: 20 },
    { ...row, component: 'GPU', units: 2 },
  ]);
  await change(context(), actor, deleteCluster, { id });
  await until('it is gone', () => isGone(id));
  await deleteOldClusters(database.pool);
  expect(await sql('select from clusters')).toHaveLength(1); // its pods are still to be metered
  await sql("update usage_meter set metered_until = now() + interval '1 minute'");
  await deleteOldPods(database.pool, new Date(Date.now() + 1_000));
  await deleteOldClusters(database.pool);
  expect(await sql('select from clusters')).toEqual([]);
});
