import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { EndpointId, PodId, WorkerId } from '../../core/ids.ts';
import { because } from '../../scaling/because.ts';
import { insertWorkers } from '../workers/insert-workers.ts';
import { markStarting } from '../workers/mark-starting.ts';
import { markExited, markUnplaced } from '../workers/worker-lifecycle.ts';
import { newWorkloadSecret, renewPodKey } from './workload-keys.ts';

let rest: RestFixture;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [], cpus: 8, memoryBytes: 2 ** 35 }) } });
});
afterAll(() => rest.close());

const POD = { name: 'p', image: 'i', cpu: { id: 'cpu3c', vcpuCount: 2 } };
const ENDPOINT = { name: 'e', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } };
const make = async (path: string, body: object) =>
  (await rest.call('POST', path, { key: rest.alice.key, body })).json().id as string;
const status = async (method: string, path: string, key: string, body?: object) =>
  (await rest.call(method, path, { key, ...(body && { body }) })).statusCode;
const keysOfAlice = async () =>
  (await rest.call('GET', '/v2/account/api-keys', { key: rest.alice.key }))
    .json()
    .apiKeys.map((key: { id: string }) => key.id);

async function startWorker(endpointId: string): Promise<{ id: WorkerId; secret: string }> {
  const id = `w${endpointId}` as WorkerId;
  const { pool } = rest.database;
  await insertWorkers(pool, [{ id, endpointId: endpointId as EndpointId, reason: 'test', pause: null }]);
  return { id, secret: await startAgain(id) };
}

async function startAgain(id: WorkerId): Promise<string> {
  const { secret, hash } = newWorkloadSecret();
  const place = { pool: null, gpuTypeId: null, dataCenterId: null, gpuCount: 0 };
  await markStarting(rest.database.pool, [{ id, ...place, tokenHash: Buffer.from(id), keyHash: hash }], {
    gpus: [],
    heldByOthers: () => undefined,
  });
  return secret;
}

test("a pod's key reads, changes and ends this pod, and nothing else; it ends with the pod", async () => {
  const [id, other] = [await make('/v2/pods', POD), await make('/v2/pods', POD)];
  const pod = { id: id as PodId, userId: rest.alice.userId };
  const former = await renewPodKey(rest.database.pool, pod);
  expect(await status('GET', `/v2/pods/${id}`, former)).toBe(200);
  const key = await renewPodKey(rest.database.pool, pod);
  expect(await status('PATCH', `/v2/pods/${id}`, key, { name: 'renamed' })).toBe(200);
  for (const path of [`/v2/pods/${other}`, '/v2/pods', '/v2/serverless', '/v2/account', '/v2/account/api-keys']) {
    expect([path, await status('GET', path, key)]).toEqual([path, 403]);
  }
  expect(await status('POST', '/v2/pods', key, POD)).toBe(403);
  const secret = { env: { A: '{{ RUNPOD_SECRET_token }}' } };
  expect(await status('PATCH', `/v2/pods/${id}`, key, secret)).toBe(403); // it would get what the user never gave it
  expect(await keysOfAlice()).not.toContain(id);
  expect(await status('DELETE', `/v2/account/api-keys/${id}`, rest.alice.key)).toBe(404);
  expect(await status('DELETE', `/v2/pods/${id}`, key)).toBe(204);
  expect(await status('GET', `/v2/pods/${id}`, key)).toBe(401);
});

test("a worker's key reads its endpoint and may send it work; it ends with the worker's place, and with the worker", async () => {
  const [id, other] = [await make('/v2/serverless', ENDPOINT), await make('/v2/serverless', ENDPOINT)];
  const { id: workerId, secret } = await startWorker(id);
  expect(await status('GET', `/v2/serverless/${id}`, secret)).toBe(200);
  expect(await status('PATCH', `/v2/serverless/${id}`, secret, { workers: { max: 0 } })).toBe(403);
  expect(await status('GET', `/v2/serverless/${other}`, secret)).toBe(403);
  const { rows } = await rest.database.pool.query('select scopes from api_keys where id = $1', [workerId]);
  expect(rows).toEqual([{ scopes: [`invoke/${id}`, `serverless/${id}:read`] }]);
  expect(await keysOfAlice()).not.toContain(workerId);

  await markUnplaced(rest.database.pool, workerId, 'test', new Date());
  rest.bus.publish('key', workerId);
  expect(await status('GET', `/v2/serverless/${id}`, secret)).toBe(401);
  const again = await startAgain(workerId);
  expect(await status('GET', `/v2/serverless/${id}`, again)).toBe(200);
  await markExited(rest.database.pool, [{ id: workerId, code: 0, ...because('START_FAILED', 'x'), isLost: false }]);
  rest.bus.publish('key', workerId);
  expect(await status('GET', `/v2/serverless/${id}`, again)).toBe(401);
});

test("the keys of an endpoint's workers end when it is deleted, not when their last job does", async () => {
  const id = await make('/v2/serverless', ENDPOINT);
  const { secret } = await startWorker(id);
  expect(await status('GET', `/v2/serverless/${id}`, secret)).toBe(200);
  expect(await status('DELETE', `/v2/serverless/${id}`, rest.alice.key)).toBe(204);
  expect(await status('GET', `/v2/serverless/${id}`, secret)).toBe(401);
});
