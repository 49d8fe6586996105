import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { newId, type PodId, type UserId, type VolumeId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { Bus } from '../../db/bus.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { createVolume, deleteVolume } from '../../domain/volumes/change-volume.ts';
import { getVolumeRow } from '../../domain/volumes/volume-store.ts';
import { StorageDirectories } from '../../runtimes/directories/storage-directories.ts';
import { StorageQuotas } from '../../runtimes/directories/storage-quotas.ts';
import { createSimulatedRuntime } from '../../runtimes/simulated/simulated-runtime.ts';
import { VolumeKeeper } from '../housekeeping/keep-volumes.ts';
import { LogCollector } from './collect-logs.ts';
import { WorkloadMounts } from './workload-mounts.ts';

let database: TestDatabase;
let bus: Bus;
let anna: UserId;
let bert: UserId;
let root: string;
let mounts: WorkloadMounts;
let keeper: VolumeKeeper;
let logs: LogCollector;

beforeAll(async () => {
  database = await createTestDatabase();
  bus = new Bus({ pool: database.pool, databaseUrl: database.url, processId: 'test', logger: silentLogger });
  anna = (await createUser(database.pool, { name: 'anna', email: null })).id;
  bert = (await createUser(database.pool, { name: 'bert', email: null })).id;
  const { pool } = database;
  root = mkdtempSync(join(tmpdir(), 'podyard-storage-'));
  const runtime = createSimulatedRuntime({ installation: 'test' });
  const quotas = new StorageQuotas({ root, logger: silentLogger, readMounts: async () => '' });
  const storage = new StorageDirectories({ root: join(root, 'storage'), quotas });
  mounts = new WorkloadMounts({ pool, storage });
  logs = new LogCollector({ pool, bus, runtime, logger: silentLogger });
  keeper = new VolumeKeeper({ pool, bus, logger: silentLogger, logs, storage });
});
afterAll(async () => {
  await logs.stop();
  rmSync(root, { recursive: true });
  await database.drop();
});
beforeEach(() => database.pool.query('delete from network_volumes'));

const actorOf = (userId: UserId) => ({ userId, keyId: 'k' as never, scopes: [{ kind: 'all' as const }] });
const create = (userId: UserId, dataCenterId = 'LOCAL-1', sizeGb = 10) => {
  const input = { name: 'models', sizeGb, dataCenterId, type: null };
  return change({ pool: database.pool, bus }, actorOf(userId), createVolume, input);
};
const worker = (userId: UserId, ...networkVolumeIds: VolumeId[]) => ({ userId, spec: { networkVolumeIds } });
const pod = (userId: UserId, given: { persistent?: string; network?: [VolumeId, string] }) => ({
  id: newId<PodId>(),
  userId,
  mounts: {
    persistent: given.persistent === undefined ? null : { sizeGb: 10, path: given.persistent },
    network: given.network ? { volumeId: given.network[0], path: given.network[1] } : null,
  },
});

test('a worker finds the volume of its data center at /runpod-volume, and a pod the same files at its own path', async () => {
  const [here, there] = [await create(anna), await create(anna, 'EU-RO-1')];
  const storage = await mounts.ofWorker(worker(anna, there.id, here.id), 'LOCAL-1');
  const source = join(root, 'storage', 'volumes', 'LOCAL-1', here.id);
  expect(storage).toEqual({
    mounts: [{ source, target: '/runpod-volume' }],
    env: { RUNPOD_VOLUME_ID: here.id, RUNPOD_VOLUME_PATH: '/runpod-volume' },
  });
  const ofPod = await mounts.ofPod(pod(anna, { network: [here.id, '/workspace/'] }));
  expect(ofPod.mounts).toEqual([{ source, target: '/workspace' }]);
  const elsewhere = await mounts.ofWorker(worker(anna, there.id, here.id), null);
  expect(elsewhere.env.RUNPOD_VOLUME_ID).toBe(there.id);
  expect(await mounts.ofWorker(worker(anna), 'LOCAL-1')).toEqual({ mounts: [], env: {} });
});

test('every user id of an image can write into a mount, and no other user of the machine can reach it', async () => {
  const volume = await create(anna);
  const [mount] = (await mounts.ofWorker(worker(anna, volume.id), null)).mounts;
  expect(statSync(mount!.source).mode & 0o777).toBe(0o777);
  expect(statSync(join(root, 'storage')).mode & 0o777).toBe(0o700);
});

test('a volume of another user counts as missing', async () => {
  const volume = await create(anna);
  const gone = `the network volume '${volume.id}' is gone`;
  await expect(mounts.ofWorker(worker(bert, volume.id), null)).rejects.toThrow(gone);
  await expect(mounts.ofPod(pod(bert, { network: [volume.id, '/workspace'] }))).rejects.toThrow(gone);
  expect(existsSync(join(root, 'storage', 'volumes', 'LOCAL-1', volume.id))).toBe(false);
});

test('a path that leads out of the mount, or into the system, is refused before anything is created', async () => {
  for (const path of ['/', '/proc/self', '/a/../..', 'relative']) {
    await expect(mounts.ofPod(pod(anna, { persistent: path }))).rejects.toMatchObject({ kind: 'badRequest' });
  }
  expect(existsSync(join(root, 'storage', 'pods'))).toBe(false);
  const odd = { ...pod(anna, { persistent: '/workspace' }), id: '../escape' as PodId };
  await expect(mounts.ofPod(odd)).rejects.toThrow('is not a valid directory name');
});

test("a pod's persistent storage stays until it is removed, and removing it twice is harmless", async () => {
  const one = pod(anna, { persistent: '/workspace' });
  const [mount] = (await mounts.ofPod(one)).mounts;
  writeFileSync(join(mount!.source, 'kept'), '');
  expect((await mounts.ofPod(one)).mounts).toEqual([mount]);
  expect(existsSync(join(mount!.source, 'kept'))).toBe(true);
  await mounts.removePodStorage(one.id);
  await mounts.removePodStorage(one.id);
  expect(existsSync(mount!.source)).toBe(false);
});

test('volumes are measured, and their users are warned when one exceeds its size', async () => {
  const volume = await create(anna);
  const [mount] = (await mounts.ofWorker(worker(anna, volume.id), null)).mounts;
  writeFileSync(join(mount!.source, 'model'), Buffer.alloc(3_000_000, 1));
  const untouched = await create(anna);
  await database.pool.query('update network_volumes set size_gb = 0 where id = $1', [volume.id]);
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, gpu_count, phase)
     values ('w1', 'e', $1, 1, 'test', $2, 1, 'RUNNING')`,
    [anna, { networkVolumeIds: [volume.id] }],
  );
  await keeper.runOnce();
  await keeper.runOnce();
  const { usedBytes } = await getVolumeRow(database.pool, anna, volume.id);
  expect(usedBytes).toBeGreaterThanOrEqual(3_000_000);
  expect(usedBytes).toBeLessThan(4_000_000);
  expect((await getVolumeRow(database.pool, anna, untouched.id)).usedBytes).toBe(0);
  await logs.stop();
  const lines = await database.pool.query("select line from log_lines where workload_id = 'w1'");
  expect(lines.rows).toEqual([{ line: "the network volume 'models' holds 0.0 GB, more than its 0 GB" }]);
  await database.pool.query("delete from workers where id = 'w1'");
});

test('the files of a deleted volume are removed; those of a volume whose row is merely missing stay', async () => {
  const [deleted, lost] = [await create(anna), await create(anna)];
  const [first] = (await mounts.ofWorker(worker(anna, deleted.id), null)).mounts;
  const [second] = (await mounts.ofWorker(worker(anna, lost.id), null)).mounts;
  writeFileSync(join(first!.source, 'file'), '');
  await change({ pool: database.pool, bus }, actorOf(anna), deleteVolume, { id: deleted.id });
  await database.pool.query('delete from network_volumes where id = $1', [lost.id]);
  await keeper.runOnce();
  await keeper.runOnce();
  expect([existsSync(first!.source), existsSync(second!.source)]).toEqual([false, true]);
  expect((await database.pool.query('select * from volume_removals')).rows).toEqual([]);
});
