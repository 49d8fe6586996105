import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { Actor } from '../access/actor.ts';
import { createUser } from '../access/users.ts';
import type { GpuStock } from '../catalog/capacity-source.ts';
import { change } from '../change.ts';
import { createTemplate } from '../templates/change-template.ts';
import { createCluster, type NewCluster } from './create-cluster.ts';
import { placeCluster } from './place-cluster.ts';

/** docs/interface/graphql.md, "Clusters": what is required of the driver, for a cluster that waits. */
const GPU = 'NVIDIA GeForce RTX 4090';

let database: TestDatabase;
let actor: Actor;
beforeAll(async () => {
  database = await createTestDatabase();
  const { id: userId } = await createUser(database.pool, { name: 'alice', email: null });
  actor = { userId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
});
afterAll(() => database.drop());

const machine = (dataCenterId: string, cudaVersion: string, total: number): GpuStock => ({
  pool: 'ADA_24',
  gpuTypeId: GPU,
  dataCenterId,
  total,
  free: total,
  cudaVersion,
});
const stock = (newer: number) => ({
  gpus: [machine('LOCAL-1', '12.8', 2), machine('EU-RO-1', '13.0', newer)],
  cpus: 8,
  memoryBytes: 2 ** 36,
});

async function create(more: Partial<NewCluster>) {
  const context = { pool: database.pool, bus: { publish: () => {} }, capacity: { read: async () => stock(2) } };
  const { id } = await change(context, actor, createCluster, {
    name: 'c',
    type: 'TRAINING',
    image: 'i:1',
    gpuTypeId: GPU,
    gpusPerPod: 1,
    podCount: 2,
    dataCenterIds: [],
    templateId: null,
    ...more,
  });
  return id;
}

test.each([
  ['the minimum', () => ({ cudaRule: { minCudaVersion: '13.0' } })],
  ['the list', () => ({ cudaRule: { allowedCudaVersions: ['13.0'] } })],
  ['the list of its template', async () => ({ templateId: await templateFor('13.0') })],
])('a cluster gets only GPUs whose driver supports %s', async (_, given) => {
  const id = await create(await given());
  expect(await placeCluster(database.pool, id, stock(0))).toMatchObject({ isPlaced: false });
  expect(await placeCluster(database.pool, id, stock(2))).toMatchObject({ isPlaced: true, dataCenterId: 'EU-RO-1' });
  await database.pool.query("update pods set wanted = 'STOP' where cluster_id = $1", [id]);
});

async function templateFor(version: string): Promise<string> {
  const context = { pool: database.pool, bus: { publish: () => {} } };
  const { id } = await change(context, actor, createTemplate, {
    name: 't',
    image: 'i:1',
    args: '',
    diskGb: 1,
    ports: [],
    env: {},
    registryId: null,
    isServerless: false,
    clientSettings: {},
    persistentMount: null,
    category: 'NVIDIA',
    isPublic: false,
    allowedCudaVersions: [version],
  });
  return id;
}
