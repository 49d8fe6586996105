import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ModelHub } from '../../../test/model-hub.ts';
import { type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { Stock } from '../../domain/catalog/capacity-source.ts';

/** docs/interface/rest-v1.md, "Records that are sent back": what GET answered is accepted by PATCH and POST. */
const GPU = 'NVIDIA GeForce RTX 4090';
const stock: Stock = {
  gpus: [{ pool: 'ADA_24', gpuTypeId: GPU, dataCenterId: 'LOCAL-1', total: 1_000, free: 1_000, cudaVersion: '12.8' }],
  cpus: 10_000,
  memoryBytes: 100_000 * 2 ** 30,
};

let hub: ModelHub;
let rest: RestFixture;
beforeAll(async () => {
  hub = await ModelHub.start(['org/model', 'org/other']);
  rest = await startRestApp({
    hubUrl: hub.url,
    capacity: { read: async () => stock },
  });
});
afterAll(async () => {
  await rest.close();
  await hub.close();
});

// biome-ignore lint/suspicious/noExplicitAny: records of any kind
type Any = any;
const send = (method: string, url: string, body?: unknown) =>
  rest.callV1(method, url, { key: rest.alice.key, ...(body !== undefined && { body }) });
async function json(method: string, url: string, body?: unknown): Promise<Any> {
  const response = await send(method, url, body);
  expect([200, 201], response.body).toContain(response.statusCode);
  return response.json();
}
const unique = () => `name ${Math.random()}`;
const container = { imageName: 'i:1', env: { A: '1' }, dockerStartCmd: ['serve'], dockerEntrypoint: ['sh', '-c'] };
const makeRegistry = () => json('POST', '/v1/containerregistryauth', { name: unique(), username: 'u', password: 'p' });
const makeVolume = () => json('POST', '/v1/networkvolumes', { name: 'data', size: 10, dataCenterId: 'LOCAL-1' });
const makeTemplate = (more: object) => json('POST', '/v1/templates', { name: unique(), ...container, ...more });
async function makeEndpoint(more: object) {
  const { id: templateId } = await makeTemplate({ isServerless: true });
  return json('POST', '/v1/endpoints', { templateId, ...more });
}

const PODS: Record<string, () => Promise<Any>> = {
  'a pod': () => json('POST', '/v1/pods', { ...container, gpuTypeIds: [GPU] }),
  'a pod without storage': () => json('POST', '/v1/pods', { ...container, gpuTypeIds: [GPU], volumeInGb: 0 }),
  'a pod with a volume, a registry and a template': async () =>
    json('POST', '/v1/pods', {
      name: 'full',
      gpuTypeIds: [GPU],
      gpuCount: 2,
      templateId: (await makeTemplate({})).id,
      networkVolumeId: (await makeVolume()).id,
      containerRegistryAuthId: (await makeRegistry()).id,
      locked: true,
    }),
  'a CPU pod': () => json('POST', '/v1/pods', { ...container, computeType: 'CPU', vcpuCount: 4 }),
};
const ENDPOINTS: Record<string, () => Promise<Any>> = {
  'an endpoint': () => makeEndpoint({ gpuTypeIds: [GPU], flashboot: true }),
  'an endpoint with all settings': async () =>
    makeEndpoint({
      name: 'full',
      gpuTypeIds: [GPU],
      gpuCount: 2,
      allowedCudaVersions: ['12.8'],
      minCudaVersion: '12.4',
      networkVolumeIds: [(await makeVolume()).id],
      dataCenterIds: ['LOCAL-1'],
      scalerType: 'REQUEST_COUNT',
      scalerValue: 2,
      workersMin: 0,
      workersMax: 5,
      idleTimeout: 30,
      executionTimeoutMs: 0,
    }),
  'a CPU endpoint': () => makeEndpoint({ computeType: 'CPU', cpuFlavorIds: ['cpu3c', 'cpu3g'], vcpuCount: 4 }),
};
const TEMPLATES: Record<string, () => Promise<Any>> = {
  'a template for pods': () => makeTemplate({ readme: 'text', category: 'CPU' }),
  'a template for endpoints': () => makeTemplate({ isServerless: true }),
  'a template without storage': () => makeTemplate({ volumeInGb: 0 }),
};
const ALL = [
  ...Object.entries(PODS).map(([name, make]) => [name, '/v1/pods', make] as const),
  ...Object.entries(ENDPOINTS).map(([name, make]) => [name, '/v1/endpoints', make] as const),
  ...Object.entries(TEMPLATES).map(([name, make]) => [name, '/v1/templates', make] as const),
  ['a network volume', '/v1/networkvolumes', makeVolume] as const,
];
const INCLUDED = '?includeTemplate=true&includeWorkers=true&includeMachine=true&includeNetworkVolume=true';

describe.each(ALL)('%s, as GET answered it', (_, path, make) => {
  test('is accepted by both updates, and changes nothing', async () => {
    const { id } = await make();
    const url = `${path}/${id}`;
    const withAll = path === '/v1/pods' ? INCLUDED.replace('&includeWorkers=true', '') : INCLUDED;
    const record = await json('GET', url);
    const full = await json('GET', `${url}${withAll}`);
    for (const body of [record, full]) {
      expect(await json('PATCH', url, body)).toEqual(record);
      expect(await json('POST', `${url}/update`, body)).toEqual(record);
    }
  });

  test('is accepted by a create, which makes the same', async () => {
    const { id } = await make();
    const record = await json('GET', `${path}/${id}${path === '/v1/templates' ? '' : '?includeTemplate=true'}`);
    const body = path === '/v1/templates' ? { ...record, name: unique() } : record;
    const created = await json('POST', path, body);
    expect(created.id).not.toBe(id);
    const { template: _t, ...same } = body;
    const own = { id: created.id, createdAt: created.createdAt, lastStatusChange: created.lastStatusChange };
    expect(created).toEqual({ ...same, ...pick(own, same) });
  });
});

test('credentials: a create accepts the record with the user name and the password', async () => {
  const record = await makeRegistry();
  const body = { ...(await json('GET', `/v1/containerregistryauth/${record.id}`)), name: unique() };
  const created = await json('POST', '/v1/containerregistryauth', { ...body, username: 'u', password: 'p' });
  expect(created).toEqual({ id: expect.any(String), name: body.name });
  expect(created.id).not.toBe(record.id);
});

describe('a record that is sent back with a change', () => {
  test.each([
    ['flashboot', { flashboot: false }, { flashboot: false, flashBootType: 'OFF' }],
    ['flashBootType', { flashBootType: 'OFF' }, { flashboot: false, flashBootType: 'OFF' }],
    ['the precise type', { flashBootType: 'PRIORITY_FLASHBOOT' }, { flashBootType: 'PRIORITY_FLASHBOOT' }],
    ['locations', { locations: 'LOCAL-1' }, { dataCenterIds: ['LOCAL-1'], locations: 'LOCAL-1' }],
    ['dataCenterIds', { dataCenterIds: ['LOCAL-1'] }, { locations: 'LOCAL-1' }],
    ['gpuIds', { gpuIds: 'AMPERE_24' }, { gpuIds: 'AMPERE_24' }],
    ['gpuTypeIds', { gpuTypeIds: ['NVIDIA L4'] }, { gpuTypeIds: ['NVIDIA L4'] }],
    ['env', { env: { B: '2' } }, { env: { B: '2' } }],
    ['modelReferences', { modelReferences: ['org/model'] }, { modelReferences: ['org/model'] }],
  ])('of an endpoint, in %s', async (_, change, shown) => {
    const record = await makeEndpoint({ gpuTypeIds: [GPU], flashboot: true });
    expect(await json('PATCH', `/v1/endpoints/${record.id}`, { ...record, ...change })).toMatchObject(shown);
  });

  test('of a CPU endpoint, in instanceIds', async () => {
    const record = await makeEndpoint({ computeType: 'CPU' });
    const body = { ...record, instanceIds: ['cpu3g-4-16'] };
    expect(await json('PATCH', `/v1/endpoints/${record.id}`, body)).toMatchObject({ instanceIds: ['cpu3g-4-16'] });
  });

  test.each([
    ['/v1/endpoints', () => makeEndpoint({ gpuTypeIds: [GPU] }), { userId: 'u' }, 'userId'],
    ['/v1/endpoints', () => makeEndpoint({ gpuTypeIds: [GPU] }), { computeType: 'CPU' }, 'computeType'],
    ['/v1/pods', PODS['a pod']!, { gpuCount: 2 }, 'gpuCount'],
    ['/v1/pods', PODS['a pod']!, { desiredStatus: 'EXITED' }, 'desiredStatus'],
    ['/v1/templates', () => makeTemplate({}), { isServerless: true }, 'isServerless'],
    ['/v1/networkvolumes', makeVolume, { dataCenterId: 'EU-RO-1' }, 'dataCenterId'],
  ])('of %s, in what cannot change: a 400 that names it', async (path, make, change, name) => {
    const record = await make();
    const response = await send('PATCH', `${path}/${record.id}`, { ...record, ...change });
    expect(response.statusCode).toBe(400);
    expect(response.json().error).toMatch(new RegExp(`^${name}: cannot be changed`));
    expect(await json('GET', `${path}/${record.id}`)).toEqual(record);
  });
});

test.each([
  ['/v1/pods', { ...container, gpuTypeIds: [GPU], gpuCount: 0 }, 'gpuCount: must be at least 1'],
  ['/v1/pods', { ...container, computeType: 'CPU', vcpuCount: 0 }, 'vcpuCount: must be at least 1'],
])('0 is no number of GPUs or vCPUs to ask for: %s', async (path, body, error) => {
  const response = await send('POST', path, body);
  expect([response.statusCode, response.json().error]).toEqual([400, error]);
});

/** runpodctl reads an endpoint over REST and writes it back over GraphQL with other models. */
test.each(Object.entries(ENDPOINTS))('%s keeps its settings when its models change over GraphQL', async (_, make) => {
  const record = await make();
  const input = {
    id: record.id,
    name: record.name,
    templateId: record.templateId,
    gpuIds: record.gpuIds,
    gpuCount: record.gpuCount,
    instanceIds: record.instanceIds,
    workersMin: record.workersMin,
    workersMax: record.workersMax,
    locations: record.locations,
    networkVolumeId: record.networkVolumeId ?? '',
    networkVolumeIds: record.networkVolumeIds.map((networkVolumeId: string) => ({ networkVolumeId })),
    idleTimeout: record.idleTimeout,
    scalerType: record.scalerType,
    scalerValue: record.scalerValue,
    executionTimeoutMs: record.executionTimeoutMs,
    minCudaVersion: record.minCudaVersion ?? '',
    flashBootType: record.flashBootType,
    modelReferences: ['org/model'],
  };
  const { errors } = await rest.graphql(
    'mutation SaveEndpoint($input: EndpointInput!) { saveEndpoint(input: $input) { id } }',
    { key: rest.alice.key, variables: { input } },
  );
  expect(errors).toBeUndefined();
  const after = await json('GET', `/v1/endpoints/${record.id}`);
  // It does not send the list of allowed versions.
  expect(after).toEqual({ ...record, version: after.version, modelReferences: ['org/model'], allowedCudaVersions: [] });
});

function pick<T extends object>(from: T, names: object): Partial<T> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => Object.hasOwn(names, name))) as Partial<T>;
}
