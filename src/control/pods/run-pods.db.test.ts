import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { workloadSpec } from '../../../test/workload-spec.ts';
import { Failure } from '../../core/errors.ts';
import { newId, type PodId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { createSecretBox } from '../../core/secret-box.ts';
import { Bus } from '../../db/bus.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { updatePublicKeys } from '../../domain/access/public-keys.ts';
import { createUser } from '../../domain/access/users.ts';
import { meterUsage } from '../../domain/billing/meter-usage.ts';
import { currentPrices } from '../../domain/billing/price-list.ts';
import { change } from '../../domain/change.ts';
import { POD_ACTIONS } from '../../domain/pods/act-on-pod.ts';
import { createPod, type NewPod } from '../../domain/pods/create-pod.ts';
import { findPodRoute } from '../../domain/pods/find-pod-route.ts';
import { findJupyterPassword } from '../../domain/pods/jupyter-password.ts';
import type { Pod } from '../../domain/pods/pod.ts';
import { deleteOldPods } from '../../domain/pods/pod-lifecycle.ts';
import { getPodRow } from '../../domain/pods/pod-store.ts';
import { updatePod } from '../../domain/pods/update-pod.ts';
import { createSecret } from '../../domain/secrets/change-secret.ts';
import { StorageDirectories } from '../../runtimes/directories/storage-directories.ts';
import { StorageQuotas } from '../../runtimes/directories/storage-quotas.ts';
import type { Runtime, WorkloadSpec } from '../../runtimes/runtime.ts';
import { createSimulatedRuntime } from '../../runtimes/simulated/simulated-runtime.ts';
import { type Behaviour, SimulatedWorld } from '../../runtimes/simulated/simulated-world.ts';
import { LogCollector } from '../workloads/collect-logs.ts';
import { NO_HUB } from '../workloads/workload-hub.ts';
import { WorkloadMounts } from '../workloads/workload-mounts.ts';
import { PodRunner } from './run-pods.ts';

const GPU = 'NVIDIA GeForce RTX 4090';
/** A workload without a pod. */
const SPEC = workloadSpec({ image: 'i' });
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
let pull: (image: string) => { ms: number } | { failure: string };
let isAway: boolean;
/** The failure of each start. */
let startFailure: Error | null;
let now: number;
let started: WorkloadSpec[];
let folder: string;
let world: SimulatedWorld;
let runtime: Runtime;
let runner: PodRunner;
let logs: LogCollector;

beforeEach(async () => {
  const { id: userId } = await createUser(database.pool, { name: newId(), email: null });
  actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
  behave = () => ({});
  pull = () => ({ ms: 0 });
  isAway = false;
  startFailure = null;
  now = Date.now();
  started = [];
  folder = await mkdtemp(join(tmpdir(), 'podyard-pods-'));
  world = new SimulatedWorld({
    behave: (spec) => {
      started.push(spec);
      return behave(spec);
    },
    pull: (image) => pull(image),
    pools: [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 4 }],
  });
  runtime = mayBeAway(createSimulatedRuntime({ installation: 'test', world }));
  lead();
});
afterEach(async () => {
  isAway = false;
  await runner.stop();
  await logs.stop();
  await runtime.close();
  await database.pool.query('delete from pods');
  await database.pool.query('delete from pod_runs');
  await rm(folder, { recursive: true, force: true });
});

/** Starts a control process that takes over, as after a crash of the previous one. */
function lead(pool = database.pool): void {
  logs = new LogCollector({ pool, bus, runtime, logger: silentLogger });
  const quotas = new StorageQuotas({ root: folder, logger: silentLogger });
  const storage = new StorageDirectories({ root: folder, quotas });
  runner = new PodRunner({
    pool,
    bus,
    clock: { now: () => now },
    monotonic: { now: () => now },
    logger: silentLogger,
    runtime,
    logs,
    mounts: new WorkloadMounts({ pool, storage }),
    secretBox,
    perGpu: { cpus: 'auto', memory: 'auto' },
    publishIp: '127.0.0.1',
    publicUrl: null,
    hub: NO_HUB,
    graceMs: 1_000,
  });
  logs.start();
  runner.start();
}

/** Fails every call while the engine is away. */
function mayBeAway(real: Runtime): Runtime {
  return new Proxy(real, {
    get: (target, name) => {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        if (isAway && name !== 'watch') return Promise.reject(new Error('connect ENOENT of the engine'));
        if (startFailure && name === 'start') return Promise.reject(startFailure);
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
}

const context = () => {
  const read = async () => ({ gpus: world.gpus(), cpus: world.cpus, memoryBytes: world.memoryBytes });
  return { pool: database.pool, bus, capacity: { read } };
};
const create = (more: Partial<NewPod> = {}) =>
  change(context(), actor, createPod, {
    name: 'pod',
    image: 'an/image:1',
    gpu: { id: GPU, count: 1 },
    cpu: null,
    cloud: 'SECURE',
    dataCenterIds: [],
    hasGlobalNetwork: false,
    isPrivate: false,
    templateId: null,
    ...more,
  });
const act = (id: PodId, action: 'start' | 'stop' | 'restart' | 'terminate') =>
  change(context(), actor, POD_ACTIONS[action], { id });
const get = (id: PodId) => getPodRow(database.pool, actor.userId, id);
const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);

async function until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + 8_000; !(await isSo()); await sleep(10)) {
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
  }
}
const statusIs = (id: PodId, status: Pod['status']) =>
  until(`pod is ${status}`, async () => (await get(id)).status === status);
const systemLines = async (id: PodId) => {
  const rows = await sql("select line from log_lines where workload_id = $1 and source = 'system' order by seq", id);
  return rows.map((row: { line: string }) => row.line);
};

test('rows that were read before a start ended do not start the pod again', async () => {
  behave = () => ({ startMs: 50 });
  await runner.stop();
  const reads: pg.QueryResult[] = [];
  /** The second read that has the pod is slow: it returns what the first one saw, once the pod runs. */
  const readSlowly = async (query: pg.QueryConfig): Promise<pg.QueryResult> => {
    const result = await database.pool.query(query);
    if (query.name !== 'pods-all' || result.rows.length === 0) return result;
    reads.push({ ...result, rows: structuredClone(result.rows) });
    if (reads.length !== 2) return result;
    await until('the pod runs', async () => (await sql("select from pods where phase = 'RUNNING'")).length === 1);
    return reads[0]!;
  };
  const slowPool = new Proxy(database.pool, {
    get: (target, name) => {
      if (name === 'query')
        return (query: string | pg.QueryConfig, values?: unknown[]) =>
          typeof query === 'string' ? target.query(query, values) : readSlowly(query);
      const member = Reflect.get(target, name, target) as unknown;
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
  lead(slowPool);
  const { id } = await create();
  await until('rows were read again', () => reads.length >= 3);
  await runner.stop();
  expect(started.map((spec) => spec.id)).toEqual([id]);
  expect(await sql('select from pod_runs where pod_id = $1', id)).toHaveLength(1);
});

test('a pod gets its variables, its secrets, its public ports and its GPUs', async () => {
  await change({ pool: database.pool, bus, secretBox }, actor, createSecret, {
    name: 'token',
    value: 'hush',
    description: null,
  });
  const pod = await create({
    env: { TOKEN: 'Bearer {{ RUNPOD_SECRET_token }}', RUNPOD_POD_ID: 'mine' },
    ports: ['22/tcp', '80/http'],
    gpu: { id: GPU, count: 2 },
    diskGb: 7,
  });
  await statusIs(pod.id, 'RUNNING');
  const [spec] = started;
  expect(spec).toMatchObject({
    id: pod.id,
    kind: 'pod',
    diskGb: 7,
    gpu: { pool: 'ADA_24', count: 2 },
    env: {
      TOKEN: 'Bearer hush',
      RUNPOD_POD_ID: pod.id,
      RUNPOD_POD_HOSTNAME: pod.id,
      RUNPOD_DC_ID: 'LOCAL-1',
      RUNPOD_GPU_COUNT: '2',
      RUNPOD_CPU_COUNT: '115',
      RUNPOD_MEM_GB: '460',
      RUNPOD_PUBLIC_IP: '127.0.0.1',
    },
  });
  expect(spec!.env.RUNPOD_TCP_PORT_22).toBe(String(spec!.publicPorts![22]));
  expect(JSON.stringify(await get(pod.id))).not.toContain('hush');
});

test('a pod gets the SSH keys and a Jupyter password as it starts them; the password stays the same', async () => {
  await change({ pool: database.pool, bus }, actor, updatePublicKeys, { publicKeys: 'ssh-ed25519 AAAA anna\n' });
  const envOf = async (more: Partial<NewPod>) => {
    const { id } = await create(more);
    await statusIs(id, 'RUNNING');
    return { id, env: started.at(-1)!.env };
  };
  const passwordOf = (id: PodId) => findJupyterPassword({ pool: database.pool, secretBox }, actor.userId, id);
  const plain = await envOf({});
  expect(plain.env).toMatchObject({ PUBLIC_KEY: 'ssh-ed25519 AAAA anna\n' });
  expect(plain.env).not.toHaveProperty('JUPYTER_PASSWORD');
  const none = await envOf({ sshByDefault: false });
  expect(none.env).not.toHaveProperty('PUBLIC_KEY');
  expect((await envOf({ startSsh: true, sshByDefault: false })).env).toHaveProperty('PUBLIC_KEY');

  const notebook = await envOf({ startSsh: false, startJupyter: true });
  expect(notebook.env).not.toHaveProperty('PUBLIC_KEY');
  const password = notebook.env.JUPYTER_PASSWORD!;
  expect(password).toMatch(/^[\w-]{32}$/);
  expect(await passwordOf(notebook.id)).toBe(password);
  expect(await passwordOf(plain.id)).toBeNull();
  await act(notebook.id, 'restart');
  await statusIs(notebook.id, 'RUNNING');
  expect(started.at(-1)!.env.JUPYTER_PASSWORD).toBe(password);
  const [row] = await sql('select pods::text as row from pods where id = $1', notebook.id);
  expect(row.row).not.toContain(password);
  expect(JSON.stringify(await get(notebook.id))).not.toContain(password);
});

test("a Jupyter password in the pod's env wins, and none is made", async () => {
  const { id } = await create({ startJupyter: true, env: { JUPYTER_PASSWORD: 'mine' } });
  await statusIs(id, 'RUNNING');
  expect(started[0]!.env.JUPYTER_PASSWORD).toBe('mine');
  expect(await sql('select jupyter_password from pods where id = $1', id)).toEqual([{ jupyter_password: null }]);
});

test('a CPU pod is limited to its vCPUs and its memory', async () => {
  const pod = await create({ gpu: null, cpu: { id: 'cpu3g', vcpuCount: 4 } });
  await statusIs(pod.id, 'RUNNING');
  expect(started[0]).toMatchObject({ cpus: 4, memoryBytes: 16 * 2 ** 30, gpu: null });
  expect(started[0]!.env).toMatchObject({ RUNPOD_GPU_COUNT: '0', RUNPOD_CPU_COUNT: '4', RUNPOD_MEM_GB: '16' });
});

test('a pod has a route while it runs, and only to its HTTP ports', async () => {
  const pod = await create({ ports: ['80/http', '22/tcp'] });
  await statusIs(pod.id, 'RUNNING');
  const route = await findPodRoute(database.pool, pod.id);
  expect(route).toEqual({ isRunning: true, httpPorts: [80], privateTo: null, address: (await get(pod.id)).address });
  await act(pod.id, 'stop');
  expect(await findPodRoute(database.pool, pod.id)).toMatchObject({ isRunning: false });
  await act(pod.id, 'terminate');
  expect(await findPodRoute(database.pool, pod.id)).toBeUndefined();
});

test('a stop, a change or a termination does not wait for a pull', async () => {
  pull = (image) => ({ ms: image === 'slow' ? 3_600_000 : 0 });
  const stopped = await create({ image: 'slow' });
  const changed = await create({ image: 'slow' });
  const terminated = await create({ image: 'slow' });
  for (const { id } of [stopped, changed, terminated]) {
    await until(
      'it pulls',
      async () => (await sql('select phase from pods where id = $1', id))[0].phase === 'PROVISIONING',
    );
  }
  await act(stopped.id, 'stop');
  await change(context(), actor, updatePod, { id: changed.id, update: { image: 'fast' } });
  await act(terminated.id, 'terminate');
  await until(
    'it is stopped',
    async () => (await sql('select phase from pods where id = $1', stopped.id))[0].phase === 'EXITED',
  );
  await statusIs(changed.id, 'RUNNING');
  await until(
    'it is gone',
    async () => (await sql('select from pods where id = $1 and gone_at is null', terminated.id)).length === 0,
  );
  expect(started.map(({ image }) => image)).toEqual(['fast']);
});

test('an image that cannot be pulled is an ERROR with its reason, holds no GPUs, and is not retried', async () => {
  pull = () => ({ failure: 'manifest unknown' });
  const pod = await create({ gpu: { id: GPU, count: 4 } });
  await statusIs(pod.id, 'ERROR');
  expect(await get(pod.id)).toMatchObject({
    statusReason: expect.stringContaining('manifest unknown'),
    costPerHour: 0,
  });
  await until('its log says so', async () =>
    (await systemLines(pod.id)).some((line) => line.includes('manifest unknown')),
  );
  pull = () => ({ ms: 0 });
  const other = await create({ gpu: { id: GPU, count: 4 } });
  await statusIs(other.id, 'RUNNING');
  expect((await get(pod.id)).status).toBe('ERROR');
  const given = 'select actor_kind, record_name, reason from audit_entries where record_id = $1 and operation = $2';
  expect(await sql(given, pod.id, 'pod.fail')).toEqual([
    { actor_kind: 'system', record_name: pod.name, reason: expect.stringContaining('manifest unknown') },
  ]);
  await act(other.id, 'terminate');
  await until(
    'its GPUs are free',
    async () => (await sql('select from pods where id = $1 and gone_at is null', other.id)).length === 0,
  );
  await act(pod.id, 'start');
  await statusIs(pod.id, 'RUNNING');
});

test('a missing secret is an ERROR that names it', async () => {
  const pod = await create({ env: { TOKEN: '{{ RUNPOD_SECRET_nobody }}' } });
  await statusIs(pod.id, 'ERROR');
  expect((await get(pod.id)).statusReason).toContain('nobody');
});

test('a pod that ends by itself is started again: three times at once, then after pauses', async () => {
  behave = () => ({ exitAfterMs: 1, exitCode: 0 });
  const pod = await create();
  const pausedUntil = async () =>
    (await sql('select not_before from pods where id = $1', pod.id))[0].not_before as Date | null;
  await until('it is in a pause', async () => Number(await pausedUntil()) > now);
  expect(started).toHaveLength(3);
  expect(Number(await pausedUntil()) - now).toBe(1_000);
  expect(await get(pod.id)).toMatchObject({
    status: 'STARTING',
    statusReason: expect.stringMatching(/started again in 1 s$/),
  });
  behave = () => ({});
  await runner.runOnce();
  expect(started).toHaveLength(3);
  now += 1_000;
  await runner.runOnce();
  await statusIs(pod.id, 'RUNNING');
  expect(started).toHaveLength(4);
  const runs = await sql('select ended_at from pod_runs where pod_id = $1 order by started_at', pod.id);
  expect(runs.map((run: { ended_at: Date | null }) => run.ended_at === null)).toEqual([false, false, false, true]);
});

test('a start is retried when the engine was away during it', async () => {
  pull = () => {
    isAway = true;
    return { failure: 'the connection was lost' };
  };
  const pod = await create();
  await until('it was tried', () => isAway);
  await runner.runOnce();
  expect((await get(pod.id)).status).toBe('PROVISIONING');
  pull = () => ({ ms: 0 });
  isAway = false;
  await statusIs(pod.id, 'RUNNING');
});

test.each([
  [
    'a failed call of the cluster',
    new Failure('unavailable', 'The cluster’s API server failed: failed calling webhook'),
  ],
  ['a name that another object still has', new Failure('conflict', 'Stopped while it started')],
  ['an error of our own', new Error('socket hang up')],
])('%s is no ERROR: the start is made again after growing pauses, with the reason', async (_, failure) => {
  startFailure = failure;
  const pod = await create();
  const failures = async () => (await sql('select failures from pods where id = $1', pod.id))[0].failures as number;
  await until('two starts failed', async () => {
    now += 100;
    return (await failures()) >= 2;
  });
  expect(await get(pod.id)).toMatchObject({
    status: 'STARTING',
    statusReason: `could not be started yet: ${failure.message}`,
  });
  await runner.runOnce();
  expect(await failures()).toBe(2);
  const lines = async () => (await systemLines(pod.id)).filter((line) => line.includes(failure.message));
  await until('its log says so', async () => (await lines()).length > 0);
  startFailure = null;
  now += 1_000;
  await runner.runOnce();
  await statusIs(pod.id, 'RUNNING');
  expect(await get(pod.id)).toMatchObject({ statusReason: null });
  await logs.finish(pod.id, 1_000);
  expect(await lines()).toEqual([`could not be started yet: ${failure.message}`]);
});

test('an interrupted start is adopted if its container runs, and made again if there is none', async () => {
  const whole = await create();
  const half = await create();
  await statusIs(whole.id, 'RUNNING');
  await statusIs(half.id, 'RUNNING');
  await runner.stop();
  await logs.stop();
  await runtime.stop(half.id, 0);
  await sql("update pods set phase = 'STARTING', address = null");
  await sql('delete from pod_runs');
  lead();
  await statusIs(whole.id, 'RUNNING');
  await statusIs(half.id, 'RUNNING');
  expect(started.map(({ id }) => id).filter((id) => id === whole.id)).toHaveLength(1);
  expect(started.map(({ id }) => id).filter((id) => id === half.id)).toHaveLength(2);
  expect((await get(whole.id)).address).not.toBeNull();
});

test('a restart of the server changes nothing about what runs', async () => {
  const pod = await create();
  await statusIs(pod.id, 'RUNNING');
  const before = await get(pod.id);
  await runner.stop();
  lead();
  await runner.runOnce();
  expect(await get(pod.id)).toEqual(before);
  expect(started).toHaveLength(1);
});

test('an orphaned container is removed; those of workers are left alone', async () => {
  await runtime.prepare('i');
  await runtime.start({ ...SPEC, id: 'orphan', kind: 'pod' });
  await runtime.start({ ...SPEC, id: 'worker', kind: 'worker' });
  now += 2_000;
  await runner.runOnce();
  await until('it is removed', async () => (await runtime.list()).length === 1);
  expect((await runtime.list())[0]!.id).toBe('worker');
});

test('persistent storage survives stop, start and new settings, and is removed with the pod', async () => {
  const pod = await create({ mounts: { persistent: { sizeGb: 10, path: '/workspace' }, network: null } });
  await statusIs(pod.id, 'RUNNING');
  await act(pod.id, 'stop');
  await until('it is stopped', async () => (await runtime.list()).length === 0);
  await act(pod.id, 'start');
  await statusIs(pod.id, 'RUNNING');
  await change(context(), actor, updatePod, { id: pod.id, update: { env: { A: '1' } } });
  await statusIs(pod.id, 'RUNNING');
  const source = join(folder, 'pods', pod.id);
  expect(started.map(({ mounts }) => mounts)).toEqual(Array(3).fill([{ source, target: '/workspace' }]));
  expect(await readdir(join(folder, 'pods'))).toEqual([pod.id]);
  await act(pod.id, 'terminate');
  await until('it is gone', async () => (await readdir(join(folder, 'pods'))).length === 0);
  expect(await runtime.list()).toEqual([]);
});

test('a pod is billed by its own tariff while its container runs, and its storage for as long as it exists', async () => {
  const pod = await create({
    cloud: 'COMMUNITY',
    gpu: { id: GPU, count: 2 },
    mounts: { persistent: { sizeGb: 73, path: '/w' }, network: null },
  });
  await statusIs(pod.id, 'RUNNING');
  await act(pod.id, 'stop');
  await until(
    'it is stopped',
    async () => (await sql('select phase from pods where id = $1', pod.id))[0].phase === 'EXITED',
  );
  const minute = new Date('2026-01-01T00:00:00Z');
  await sql('update usage_meter set metered_until = $1', minute);
  await sql(`update pod_runs set started_at = $1, ended_at = $1::timestamptz + interval '30 seconds'`, minute);
  await sql('update pods set created_at = $1', minute);
  await meterUsage(database.pool, currentPrices(), new Date(minute.getTime() + 65_000));
  const rows = await sql(
    'select component, units, seconds::float8, amount::float8 from usage where resource_id = $1 order by component, units',
    pod.id,
  );
  expect(rows).toEqual([
    { component: 'DISK', units: 20, seconds: 30, amount: expect.closeTo((20 * 0.1) / 730 / 120, 9) },
    { component: 'DISK', units: 73, seconds: 60, amount: expect.closeTo((73 * 0.1) / 730 / 60, 9) },
    { component: 'GPU', units: 2, seconds: 30, amount: expect.closeTo(0.34 / 60, 9) },
  ]);
});

test('a pod may take the GPUs of frozen workers, and starts once these are gone', async () => {
  await runtime.prepare('i');
  const addFrozen = async (id: string, minutes: number) => {
    await runtime.start({ ...SPEC, id, kind: 'worker', gpu: { pool: 'ADA_24', count: 2 } });
    await sql(
      `insert into workers (id, endpoint_id, user_id, version, wanted, wanted_reason, phase, spec, gpu_pool, gpu_type_id,
         gpu_count, data_center_id, frozen_at)
       values ($1, 'e', 'u', 1, 'FREEZE', '', 'FROZEN', '{}', 'ADA_24', '${GPU}', 2, 'LOCAL-1', now() - $2 * interval '1 minute')`,
      id,
      minutes,
    );
  };
  await addFrozen('younger', 1);
  await addFrozen('older', 9);
  const pod = await create({ gpu: { id: GPU, count: 2 } });
  const leaving = await sql("select id from workers where wanted = 'STOP'");
  expect(leaving).toEqual([{ id: 'older' }]);
  await expect(create({ gpu: { id: GPU, count: 3 } })).rejects.toThrow(/no longer any instances available/);
  await runner.runOnce();
  await runner.runOnce();
  expect(started.filter(({ kind }) => kind === 'pod')).toEqual([]);
  await runtime.stop('older', 0);
  await statusIs(pod.id, 'RUNNING');
  await sql('delete from workers');
});

test('a terminated pod is deleted with its runs once it is metered', async () => {
  const pod = await create();
  await statusIs(pod.id, 'RUNNING');
  await act(pod.id, 'terminate');
  const rows = async () => (await sql('select gone_at from pods where id = $1', pod.id)) as { gone_at: Date | null }[];
  await until('it is gone', async () => (await rows())[0]!.gone_at !== null);
  const later = new Date(Date.now() + 60_000);
  await sql("update usage_meter set metered_until = now() - interval '1 hour'");
  await deleteOldPods(database.pool, later);
  expect(await rows()).toHaveLength(1);
  await sql('update usage_meter set metered_until = $1', later);
  await deleteOldPods(database.pool, later);
  expect(await rows()).toEqual([]);
  expect(await sql('select from pod_runs where pod_id = $1', pod.id)).toEqual([]);
});
