import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';

let rest: RestFixture;
let id: string;
beforeAll(async () => {
  rest = await startRestApp();
  const body = { name: 'picky', image: 'podyard/echo:1', gpu: { pools: ['AMPERE_24', 'ADA_24'] } };
  id = (await rest.call('POST', '/v2/serverless', { key: rest.alice.key, body })).json().id;
});
afterAll(() => rest.close());

const call = (method: string, body?: unknown, key = rest.alice.key, of = id) =>
  rest.call(method, `/v2/serverless/${of}/gpu-rule`, { key, ...(body === undefined ? {} : { body }) });

const NONE = { excludedGpuTypes: [], allowedCudaVersions: [], minCudaVersion: null };
const RULE = { excludedGpuTypes: ['NVIDIA L4'], allowedCudaVersions: ['12.4', '12.8'], minCudaVersion: '12.4' };

test('an endpoint has no rule until one is set, and a rule replaces the one before; a change creates a release', async () => {
  expect((await call('GET')).json()).toEqual(NONE);
  const set = await call('PUT', RULE);
  expect([set.statusCode, set.json()]).toEqual([200, RULE]);
  expect((await call('GET')).json()).toEqual(RULE);
  expect((await call('PUT', RULE)).json()).toEqual(RULE);
  const releases = await rest.call('GET', `/v2/serverless/${id}/releases`, { key: rest.alice.key });
  expect(releases.json().releases.map((one: { diff: unknown }) => one.diff)).toEqual([
    [
      { field: 'gpu.excludedTypes', old: null, new: ['NVIDIA L4'] },
      { field: 'gpu.allowedCudaVersions', old: null, new: ['12.4', '12.8'] },
      { field: 'gpu.minCudaVersion', old: null, new: '12.4' },
    ],
    [],
  ]);
  expect((await call('PUT', NONE)).json()).toEqual(NONE);
  expect((await call('GET')).json()).toEqual(NONE);
});

test.each([
  [['NVIDIA H200'], "excludedGpuTypes: 'NVIDIA H200': it is in none of the pools AMPERE_24, ADA_24"],
  [
    ['NVIDIA L44'],
    "excludedGpuTypes: 'NVIDIA L44': it is in none of the pools AMPERE_24, ADA_24. Did you mean 'NVIDIA L4'?",
  ],
  [
    ['NVIDIA RTX A5000', 'NVIDIA L4', 'NVIDIA GeForce RTX 3090', 'NVIDIA GeForce RTX 4090'],
    'excludedGpuTypes: no type of the pools AMPERE_24, ADA_24 is left',
  ],
])('a rule that is broken is a 400 that says which', async (excludedGpuTypes, detail) => {
  const answer = await call('PUT', { ...NONE, excludedGpuTypes });
  expect([answer.statusCode, answer.json().detail]).toEqual([400, detail]);
});

test.each([
  {},
  { ...RULE, more: 1 },
  { ...RULE, minCudaVersion: 'new' },
  { ...RULE, minCudaVersion: 12.8 },
  { ...RULE, allowedCudaVersions: ['12.4', '12.4'] },
  { ...RULE, allowedCudaVersions: '12.4' },
  { ...RULE, excludedGpuTypes: [''] },
])('a body of another shape is a 422: %j', async (body) => {
  expect((await call('PUT', body)).statusCode).toBe(422);
});

test("it needs access to the endpoint; another user's and a missing one are the same 404", async () => {
  expect((await rest.call('GET', `/v2/serverless/${id}/gpu-rule`, {})).statusCode).toBe(401);
  const reader = await rest.keyFor(rest.alice, 'serverless:read');
  expect((await call('GET', undefined, reader)).statusCode).toBe(200);
  expect((await call('PUT', RULE, reader)).statusCode).toBe(403);
  for (const [method, body] of [
    ['GET', undefined],
    ['PUT', RULE],
  ] as const) {
    const foreign = await call(method, body, rest.bob.key);
    expect(foreign.statusCode).toBe(404);
    expect(foreign.body).toBe((await call(method, body, rest.bob.key, 'nosuchendpoint')).body);
  }
});
