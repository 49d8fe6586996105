import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { UserId } from '../../core/ids.ts';
import type { Actor } from '../access/actor.ts';
import { createUser } from '../access/users.ts';
import type { Stock } from '../catalog/capacity-source.ts';
import { change } from '../change.ts';
import { startPod, stopPod } from './act-on-pod.ts';
import { createPod } from './create-pod.ts';
import type { PodGpu } from './pod.ts';
import { getPodRow } from './pod-store.ts';

const TYPE = 'NVIDIA GeForce RTX 4090';
const machine = (dataCenterId: string, cudaVersion?: string) => {
  const entry = { pool: 'ADA_24', gpuTypeId: TYPE, dataCenterId, total: 9, free: 9 };
  return cudaVersion === undefined ? entry : { ...entry, cudaVersion };
};
const stock: Stock = {
  gpus: [machine('EU-RO-1', '12.4'), machine('US-TX-1', '12.10')],
  cpus: 64,
  memoryBytes: 2 ** 37,
};

let database: TestDatabase;
let actor: Actor;
beforeAll(async () => {
  database = await createTestDatabase();
  const { id } = await createUser(database.pool, { name: 'anna', email: null });
  actor = { userId: id as UserId, keyId: 'k' as never, scopes: [{ kind: 'all' }] };
});
afterAll(() => database.drop());

const context = () => ({ pool: database.pool, bus: { publish: () => {} }, capacity: { read: async () => stock } });
const pod = (gpu: Partial<PodGpu>) =>
  change(context(), actor, createPod, {
    name: 'p',
    image: 'any:v1',
    gpu: { id: TYPE, count: 1, ...gpu },
    cpu: null,
    cloud: 'SECURE',
    dataCenterIds: [],
    hasGlobalNetwork: false,
    isPrivate: false,
    templateId: null,
  });

test('a pod is placed where the driver supports what it requires, and knows the version there', async () => {
  expect(await pod({})).toMatchObject({ dataCenterId: 'EU-RO-1', cudaVersion: '12.4' });
  const newer = await pod({ minCudaVersion: '12.5' });
  expect(newer).toMatchObject({ dataCenterId: 'US-TX-1', cudaVersion: '12.10' });
  expect(newer.gpu).toEqual({ id: TYPE, count: 1, minCudaVersion: '12.5' });
  const exact = await pod({ allowedCudaVersions: ['12.4', '11.8'] });
  expect(exact).toMatchObject({ dataCenterId: 'EU-RO-1', gpu: { allowedCudaVersions: ['12.4', '11.8'] } });
  expect(await getPodRow(database.pool, actor.userId, exact.id)).toMatchObject({ cudaVersion: '12.4', gpu: exact.gpu });
});

test('the rule holds when it is started again; no match is no capacity, and says why', async () => {
  const { id } = await pod({ minCudaVersion: '12.4', allowedCudaVersions: ['12.4'] });
  await change(context(), actor, stopPod, { id });
  await expect(
    change(
      { ...context(), capacity: { read: async () => ({ ...stock, gpus: [machine('EU-RO-1', '12.2')] }) } },
      actor,
      startPod,
      { id },
    ),
  ).rejects.toThrow(
    /^There are no longer any instances available .* with CUDA 12\.4, and at least 12\.4, but the drivers support 12\.2/,
  );
  const unknown = { ...context(), capacity: { read: async () => ({ ...stock, gpus: [machine('EU-RO-1')] }) } };
  expect(await change(unknown, actor, startPod, { id })).toMatchObject({ cudaVersion: null });
  await expect(pod({ minCudaVersion: '13.0' })).rejects.toThrow(
    `1 × ${TYPE} with CUDA 13.0 or newer, but the drivers support 12.4 and 12.10.`,
  );
  await expect(pod({ minCudaVersion: 'new' })).rejects.toThrow("minCudaVersion: 'new' is not a version like 12.8");
});
