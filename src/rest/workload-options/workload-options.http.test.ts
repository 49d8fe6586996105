import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

/** This server permits the name example.com/team and up to 8 CPUs for each GPU. */
let rest: RestFixture;
let id: string;
let cpuId: string;
beforeAll(async () => {
  rest = await startRestApp();
  const create = async (path: string, body: object) =>
    (await rest.call('POST', path, { key: rest.alice.key, body })).json().id;
  id = await create('/v2/serverless', { name: 'tagged', image: 'podyard/echo:1', gpu: { pools: ['ADA_24'] } });
  cpuId = await create('/2026-08/v2/serverless', {
    name: 'small',
    type: 'QUEUE',
    image: 'podyard/echo:1',
    cpu: [{ id: 'cpu3c', vcpuCount: 2 }],
    scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  });
});
afterAll(() => rest.close());

const call = (method: string, body?: unknown, key = rest.alice.key, of = id) =>
  rest.call(method, `/v2/serverless/${of}/workload-options`, { key, ...(body === undefined ? {} : { body }) });

const NONE = { labels: {}, annotations: {}, cpusPerGpu: null, memoryGbPerGpu: null };
const OPTIONS = { ...NONE, labels: { 'example.com/team': 'vision' }, cpusPerGpu: 4.5 };
const permitted = { names: ['example.com/team'], cpusPerGpu: 8, memoryGbPerGpu: null };

test('an endpoint has no options until some are set; they replace those before, and say what is permitted', async () => {
  expect((await call('GET')).json()).toEqual({ ...NONE, permitted });
  const set = await call('PUT', OPTIONS);
  expect([set.statusCode, set.json()]).toEqual([200, { ...OPTIONS, permitted }]);
  expect((await call('GET')).json()).toEqual({ ...OPTIONS, permitted });
  await call('PUT', NONE);
  expect((await call('GET')).json()).toEqual({ ...NONE, permitted });
});

test.each([
  [
    { labels: { 'k8s.v1.cni.cncf.io/networks': 'x' } },
    "labels: 'k8s.v1.cni.cncf.io/networks' is not permitted on this server; permitted: example.com/team (PODYARD_KUBERNETES_ENDPOINT_METADATA)",
  ],
  [
    { annotations: { other: 'x' } },
    "annotations: 'other' is not permitted on this server; permitted: example.com/team (PODYARD_KUBERNETES_ENDPOINT_METADATA)",
  ],
  [{ cpusPerGpu: 9 }, 'cpusPerGpu: must not be more than 8 on this server (PODYARD_MAX_CPUS_PER_GPU)'],
  [{ memoryGbPerGpu: 1 }, 'memoryGbPerGpu: endpoints cannot set it on this server (PODYARD_MAX_MEMORY_PER_GPU)'],
])('what the operator does not permit is a 400 that names it: %j', async (change, detail) => {
  const answer = await call('PUT', { ...NONE, ...change });
  expect([answer.statusCode, answer.json().detail]).toEqual([400, detail]);
});

test('a CPU endpoint has no amounts for each GPU', async () => {
  const answer = await call('PUT', { ...NONE, cpusPerGpu: 1 }, rest.alice.key, cpuId);
  expect([answer.statusCode, answer.json().detail]).toEqual([
    400,
    'a CPU endpoint has no GPUs: its CPU flavor says what a worker gets',
  ]);
});

test.each([
  {},
  { ...NONE, more: 1 },
  { ...NONE, labels: { 'bad name': 'x' } },
  { ...NONE, labels: { 'example.com/team': 'not a label' } },
  { ...NONE, annotations: { 'example.com/team': 'x'.repeat(1_001) } },
  { ...NONE, cpusPerGpu: 0 },
  { ...NONE, memoryGbPerGpu: 1.5 },
])('a body of another shape is a 422: %j', async (body) => {
  expect((await call('PUT', body)).statusCode).toBe(422);
});

test("it needs access to the endpoint; another user's and a missing one are the same 404", async () => {
  const reader = await rest.keyFor(rest.alice, 'serverless:read');
  expect((await call('GET', undefined, reader)).statusCode).toBe(200);
  expect((await call('PUT', OPTIONS, reader)).statusCode).toBe(403);
  const foreign = await call('PUT', OPTIONS, rest.bob.key);
  expect(foreign.statusCode).toBe(404);
  expect(foreign.body).toBe((await call('PUT', OPTIONS, rest.bob.key, 'nosuchendpoint')).body);
});
