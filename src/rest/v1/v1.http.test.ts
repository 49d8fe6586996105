import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { resolveResponses } from '../../../test/resolve-responses.ts';
import { type CallOptions, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { Stock } from '../../domain/catalog/capacity-source.ts';
import { getPodRow } from '../../domain/pods/pod-store.ts';
import { createValidatorCompiler } from '../setup/validation.ts';
import { V1_SCHEMAS } from './v1-schemas.ts';

/** docs/interface/rest-v1.md, "Rules", "Pods", "Endpoints", "Templates of v1" and "Billing of v1" */

const GPU = 'NVIDIA GeForce RTX 4090';
const OTHER_GPU = 'NVIDIA L4';
const place = { dataCenterId: 'LOCAL-1', total: 1_000 };
const stock: Stock = {
  gpus: [
    { pool: 'ADA_24', gpuTypeId: GPU, free: 900, ...place },
    { pool: 'AMPERE_24', gpuTypeId: OTHER_GPU, ...place, total: 0, free: 0 },
  ],
  cpus: 10_000,
  memoryBytes: 100_000 * 2 ** 30,
};

let rest: RestFixture;
let checkAnswer: (method: string, url: string, status: number, body: string) => void;
beforeAll(async () => {
  rest = await startRestApp({ capacity: { read: async () => stock } });
  checkAnswer = await checkerOf((await rest.callV1('GET', '/v1/openapi.json')).json());
});
afterAll(() => rest.close());

/** Sends a request as alice, and checks the answer against the description. */
async function send(method: string, url: string, body?: unknown, options: CallOptions = {}) {
  const response = await rest.callV1(method, url, {
    key: rest.alice.key,
    ...(body !== undefined && { body }),
    ...options,
  });
  checkAnswer(method, url, response.statusCode, response.body);
  return response;
}
const json = async (method: string, url: string, body?: unknown) => (await send(method, url, body)).json();
const unique = () => `name ${Math.random()}`;
const makePod = (more: object = {}) => send('POST', '/v1/pods', { imageName: 'i:1', gpuTypeIds: [GPU], ...more });
const makeTemplate = async (more: object = {}) =>
  json('POST', '/v1/templates', { name: unique(), imageName: 'from/template:1', ...more });
const makeEndpoint = async (more: object = {}) => {
  const { id: templateId } = await makeTemplate({ isServerless: true, env: { A: '1' } });
  return json('POST', '/v1/endpoints', { templateId, gpuTypeIds: [GPU], ...more });
};
const makeVolume = () => json('POST', '/v1/networkvolumes', { name: 'data', size: 10, dataCenterId: 'LOCAL-1' });
const v2 = async (path: string) => (await rest.call('GET', path, { key: rest.alice.key })).json();

describe('pods', () => {
  test('a create fills in the defaults of version 1', async () => {
    const response = await makePod();
    expect(response.statusCode).toBe(201);
    const pod = response.json();
    expect(pod).toMatchObject({
      name: 'my pod',
      image: 'i:1',
      imageName: 'i:1',
      containerDiskInGb: 50,
      volumeInGb: 20,
      volumeMountPath: '/workspace',
      ports: ['8888/http', '22/tcp'],
      desiredStatus: 'RUNNING',
      gpuCount: 1,
      gpu: { id: GPU, count: 1 },
      consumerUserId: rest.alice.userId,
      portMappings: {},
      publicIp: null,
      locked: false,
      interruptible: false,
    });
    expect(await v2(`/v2/pods/${pod.id}`)).toMatchObject({ disk: 50, mounts: { persistent: { size: 20 } } });
    expect(await json('GET', `/v1/pods/${pod.id}`)).toEqual(pod);
  });

  test('a create keeps what is given, and entrypoint and command become the arguments of version 2', async () => {
    const { id: networkVolumeId } = await makeVolume();
    const given = {
      name: 'full',
      cloudType: 'COMMUNITY',
      gpuCount: 2,
      containerDiskInGb: 7,
      ports: ['80/http'],
      env: { A: '1' },
      dockerEntrypoint: ['bash', '-c'],
      dockerStartCmd: ['echo "hi"'],
      networkVolumeId,
      volumeMountPath: '/data',
      dataCenterIds: ['LOCAL-1'],
      locked: true,
      globalNetworking: true,
      minRAMPerGPU: 8,
      supportPublicIp: true,
    };
    const pod = (await makePod(given)).json();
    const {
      cloudType: _,
      dataCenterIds: __,
      globalNetworking: ___,
      minRAMPerGPU: ____,
      supportPublicIp: _____,
      ...shown
    } = given;
    expect(pod).toMatchObject(shown);
    expect(await v2(`/v2/pods/${pod.id}`)).toMatchObject({
      args: '{"entrypoint":["bash","-c"],"cmd":["echo \\"hi\\""]}',
      cloud: 'COMMUNITY',
      mounts: { network: [{ volumeId: networkVolumeId, path: '/data' }] },
      globalNetworking: { enabled: true },
    });
    const full = await json('GET', `/v1/pods/${pod.id}?includeMachine=true&includeNetworkVolume=true`);
    expect(full.networkVolume).toEqual({ id: networkVolumeId, name: 'data', size: 10, dataCenterId: 'LOCAL-1' });
    expect(full.machine).toMatchObject({ dataCenterId: 'LOCAL-1', gpuTypeId: GPU, secureCloud: false });
  });

  test('the first GPU type with capacity is used; without any, the free one', async () => {
    expect((await makePod({ gpuTypeIds: [OTHER_GPU, GPU] })).json().gpuTypeId).toBe(GPU);
    expect((await makePod({ gpuTypeIds: [OTHER_GPU, GPU], gpuTypePriority: 'custom' })).json().gpuTypeId).toBe(GPU);
    expect((await send('POST', '/v1/pods', { imageName: 'i:1' })).json().gpuTypeId).toBe(GPU);
    const none = await makePod({ gpuTypeIds: [OTHER_GPU] });
    expect(none.statusCode).toBe(400);
    expect(none.json().error).toMatch(/^There are no longer any instances available/);
  });

  test('a CPU pod has a flavor, its memory and no storage of its own', async () => {
    const body = { imageName: 'i:1', computeType: 'CPU', cpuFlavorIds: ['cpu3c'], vcpuCount: 2 };
    const pod = await json('POST', '/v1/pods', body);
    expect(pod).toMatchObject({ cpuFlavorId: 'cpu3c', vcpuCount: 2, memoryInGb: 4, gpuCount: 0, volumeInGb: 0 });
    expect(pod).not.toHaveProperty('gpu');
    const refused = await send('POST', '/v1/pods', { ...body, volumeInGb: 20 });
    expect([refused.statusCode, refused.json().error]).toEqual([400, expect.stringMatching(/^volumeInGb: a CPU pod/)]);
  });

  test('a template gives what the body leaves out', async () => {
    const { id: templateId } = await makeTemplate({
      containerDiskInGb: 9,
      ports: ['1/tcp'],
      env: { A: '1' },
      volumeInGb: 30,
    });
    const pod = (await send('POST', '/v1/pods', { templateId, gpuTypeIds: [GPU], env: { B: '2' } })).json();
    expect(pod).toMatchObject({ templateId, imageName: 'from/template:1', containerDiskInGb: 9, ports: ['1/tcp'] });
    expect(pod).toMatchObject({ env: { A: '1', B: '2' }, volumeInGb: 30 });
    expect((await json('GET', `/v1/pods/${pod.id}?includeTemplate=true`)).template).toMatchObject({ id: templateId });
  });

  test.each([
    ['interruptible', { interruptible: true }],
    ['countryCodes', { countryCodes: ['XX'] }],
    ['allowedCudaVersions', { allowedCudaVersions: ['new'] }],
    ['minDownloadMbps', { minDownloadMbps: 100 }],
    ['minUploadMbps', { minUploadMbps: 100 }],
    ['minDiskBandwidthMBps', { minDiskBandwidthMBps: 1 }],
    ['gpuTypeIds', { gpuTypeIds: [] }],
    ['gpuTypeIds', { gpuTypeIds: ['no such type'] }],
    ['dataCenterIds', { dataCenterIds: ['NOWHERE-1'] }],
    ['containerRegistryAuthId', { containerRegistryAuthId: 'nosuch' }],
    ['networkVolumeId', { networkVolumeId: 'nosuch' }],
    ['templateId', { templateId: 'nosuch' }],
    ['ports', { ports: ['80/http', '80/http'] }],
  ])('what cannot be had is a 400 that begins with %s', async (field, more) => {
    const response = await makePod(more);
    expect([response.statusCode, response.json().error.split(':')[0]]).toEqual([400, field]);
  });

  test('CUDA versions, countries and what a machine has for each GPU decide where a pod runs', async () => {
    const given = { allowedCudaVersions: ['12.8'], minRAMPerGPU: 8, minVCPUPerGPU: 2 };
    const { id } = (await makePod(given)).json();
    const { gpu } = await getPodRow(rest.database.pool, rest.alice.userId, id);
    expect(gpu).toMatchObject({ allowedCudaVersions: ['12.8'], minRamPerGpu: 8, minVcpuCountPerGpu: 2 });
    const elsewhere = await makePod({ countryCodes: ['CA'] });
    expect(elsewhere.json().error).toMatch(/^There are no longer any instances available .* in CA-/);
  });

  test('a list is a bare array, filtered by what the query says', async () => {
    const name = unique();
    const { id } = (await makePod({ name, ports: ['1/tcp'] })).json();
    const of = async (query: string) =>
      (await json('GET', `/v1/pods?name=${encodeURIComponent(name)}&${query}`)).length;
    expect((await json('GET', `/v1/pods?id=${id}`)).map((pod: { id: string }) => pod.id)).toEqual([id]);
    const gpu = encodeURIComponent(GPU);
    expect([await of(`gpuTypeId=${gpu}`), await of('gpuTypeId=x'), await of(`gpuTypeId=x&gpuTypeId=${gpu}`)]).toEqual([
      1, 0, 1,
    ]);
    expect([await of('computeType=GPU'), await of('computeType=CPU')]).toEqual([1, 0]);
    expect([await of('desiredStatus=RUNNING'), await of('desiredStatus=EXITED')]).toEqual([1, 0]);
    expect([await of('dataCenterId=LOCAL-1'), await of('imageName=i:1'), await of('templateId=x')]).toEqual([1, 1, 0]);
    for (const query of ['includeWorkers=true', 'endpointId=e1', 'name=a&name=b', 'computeType=TPU']) {
      expect([query, (await send('GET', `/v1/pods?${query}`)).statusCode]).toEqual([query, 400]);
    }
  });

  test('an update changes what is given, by PATCH and by POST', async () => {
    const { id } = (await makePod({ dockerEntrypoint: ['bash'], dockerStartCmd: ['a'] })).json();
    const changed = await json('PATCH', `/v1/pods/${id}`, { name: 'new', dockerStartCmd: ['b'], volumeInGb: 40 });
    expect(changed).toMatchObject({ name: 'new', dockerEntrypoint: ['bash'], dockerStartCmd: ['b'], volumeInGb: 40 });
    expect(changed).toMatchObject({ imageName: 'i:1', volumeMountPath: '/workspace' });
    const posted = await json('POST', `/v1/pods/${id}/update`, { volumeMountPath: '/data', dockerEntrypoint: [] });
    expect(posted).toMatchObject({
      dockerEntrypoint: [],
      dockerStartCmd: ['b'],
      volumeInGb: 40,
      volumeMountPath: '/data',
    });
    expect((await send('PATCH', `/v1/pods/${id}`, { volumeInGb: 10 })).json().error).toMatch(
      /^volumeInGb: can only grow/,
    );
    const bare = (await makePod({ volumeInGb: 0 })).json().id;
    expect((await send('PATCH', `/v1/pods/${bare}`, { volumeInGb: 10 })).statusCode).toBe(400);
  });

  test('actions answer with the pod; one that is not possible is a 409', async () => {
    const { id } = (await makePod()).json();
    const headers = { 'content-type': 'application/json' }; // without a body, as clients send it
    const stopped = await send('POST', `/v1/pods/${id}/stop`, undefined, { headers });
    expect([stopped.statusCode, stopped.json().desiredStatus, stopped.json().costPerHr]).toEqual([200, 'EXITED', 0]);
    expect((await send('POST', `/v1/pods/${id}/restart`)).statusCode).toBe(409);
    expect((await json('POST', `/v1/pods/${id}/start`)).desiredStatus).toBe('RUNNING');
    await rest.database.pool.query("update pods set phase = 'RUNNING', phase_revision = revision where id = $1", [id]);
    expect((await json('POST', `/v1/pods/${id}/reset`)).lastStatusChange).toMatch(/^STARTING since/);
    expect((await send('DELETE', `/v1/pods/${id}`)).statusCode).toBe(204);
    expect((await send('GET', `/v1/pods/${id}`)).statusCode).toBe(404);
  });

  test('published ports are mapped', async () => {
    const { id } = (await makePod()).json();
    await rest.database.pool.query(
      `update pods set phase = 'RUNNING', phase_revision = revision, address = '10.0.0.7', started_at = now(),
         published_ports = '[{"private": 22, "public": 32768, "type": "tcp", "ip": "127.0.0.1"},
                             {"private": 8888, "public": null, "type": "http", "ip": null}]' where id = $1`,
      [id],
    );
    expect(await json('GET', `/v1/pods/${id}`)).toMatchObject({ publicIp: '127.0.0.1', portMappings: { 22: 32768 } });
  });
});

describe('endpoints', () => {
  test('a create takes the container of the template and the pools of the GPU types, without the other types', async () => {
    const endpoint = await makeEndpoint({ flashboot: true, minCudaVersion: '12.4' });
    expect(endpoint).toMatchObject({
      name: 'my endpoint',
      computeType: 'GPU',
      gpuTypeIds: [GPU],
      gpuCount: 1,
      env: { A: '1' },
      workersMin: 0,
      workersMax: 3,
      idleTimeout: 5,
      scalerType: 'QUEUE_DELAY',
      scalerValue: 4,
      flashboot: true,
      minCudaVersion: '12.4',
      userId: rest.alice.userId,
      version: 1,
    });
    const rule = await v2(`/v2/serverless/${endpoint.id}/gpu-rule`);
    expect(rule.minCudaVersion).toBe('12.4');
    const { pool } = await v2(`/v2/catalog/gpus/${encodeURIComponent(GPU)}`);
    expect((await v2(`/v2/serverless/${endpoint.id}`)).gpu.pools).toEqual([pool]);
    const all = (await v2('/v2/catalog/gpus')).gpus.filter((type: { pool: string }) => type.pool === pool);
    expect(rule.excludedGpuTypes.length).toBe(all.length - 1);
  });

  test('a CPU endpoint has flavors, and stays one', async () => {
    const endpoint = await makeEndpoint({
      computeType: 'CPU',
      cpuFlavorIds: ['cpu3c', 'cpu5c'],
      vcpuCount: 4,
      gpuTypeIds: ['x'],
    });
    expect(endpoint).toMatchObject({
      computeType: 'CPU',
      gpuCount: 0,
      gpuTypeIds: [],
      instanceIds: ['cpu3c-4-8', 'cpu5c-4-8'],
    });
    const changed = await json('PATCH', `/v1/endpoints/${endpoint.id}`, { vcpuCount: 2 });
    expect(changed.instanceIds).toEqual(['cpu3c-2-4', 'cpu5c-2-4']);
    expect((await send('PATCH', `/v1/endpoints/${endpoint.id}`, { gpuTypeIds: [GPU] })).json().error).toMatch(
      /^gpuTypeIds: /,
    );
  });

  test('an update changes what is given; a fraction is shown rounded up', async () => {
    const { id } = await makeEndpoint({ allowedCudaVersions: ['12.8'] });
    const volume = await makeVolume();
    const change = {
      name: 'new',
      workersMax: 5,
      idleTimeout: 60,
      scalerType: 'REQUEST_COUNT',
      networkVolumeId: volume.id,
      gpuCount: 2,
    };
    expect(await json('PATCH', `/v1/endpoints/${id}`, change)).toMatchObject({
      ...change,
      workersMin: 0,
      gpuTypeIds: [GPU],
      allowedCudaVersions: ['12.8'],
      networkVolumeIds: [volume.id],
    });
    const posted = await json('POST', `/v1/endpoints/${id}/update`, { networkVolumeId: '' });
    expect(posted.networkVolumeIds).toEqual([]);
    expect(posted).not.toHaveProperty('networkVolumeId');
    const options = { key: rest.alice.key, body: { scaling: { value: 1.5 } } };
    await rest.call('PATCH', `/v2/serverless/${id}`, options);
    expect((await json('GET', `/v1/endpoints/${id}`)).scalerValue).toBe(2);
    const refused = await send('PATCH', `/v1/endpoints/${id}`, { workersMin: 9 });
    expect(refused.json().error).toBe('workersMin (9) must not be greater than workersMax (5)');
  });

  test('includes its template and its live workers', async () => {
    const { id, templateId } = await makeEndpoint();
    await rest.database.pool.query(
      `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, gpu_count, gpu_type_id, data_center_id)
       values ($1 || 'w', $1, $2, 1, '', '{"image": "i:7"}', 'RUNNING', 1, $3, 'LOCAL-1')`,
      [id, rest.alice.userId, GPU],
    );
    const query = 'includeTemplate=true&includeWorkers=true';
    const endpoint = await json('GET', `/v1/endpoints/${id}?${query}`);
    expect(endpoint.template.id).toBe(templateId);
    expect(endpoint.workers).toEqual([
      expect.objectContaining({ id: `${id}w`, endpointId: id, imageName: 'i:7', gpuTypeId: GPU, slsVersion: 1 }),
    ]);
    const list = await json('GET', `/v1/endpoints?${query}`);
    expect(list.find((one: { id: string }) => one.id === id)).toEqual(endpoint);
    expect((await send('DELETE', `/v1/endpoints/${id}`)).statusCode).toBe(204);
    expect((await send('GET', `/v1/endpoints/${id}`)).statusCode).toBe(404);
  });
});

describe('templates', () => {
  test('a create fills in the defaults; one for endpoints has no storage and no ports', async () => {
    const forPods = await makeTemplate({ readme: '# hi' });
    expect(forPods).toMatchObject({
      containerDiskInGb: 50,
      volumeInGb: 20,
      volumeMountPath: '/workspace',
      readme: '# hi',
    });
    expect(forPods).toMatchObject({ ports: ['8888/http', '22/tcp'], isServerless: false, category: 'NVIDIA' });
    const forEndpoints = await makeTemplate({ isServerless: true });
    expect(forEndpoints).toMatchObject({ volumeInGb: 0, ports: [], isServerless: true });
    expect(
      (await send('POST', '/v1/templates', { name: unique(), imageName: 'i', isServerless: true, volumeInGb: 5 }))
        .statusCode,
    ).toBe(400);
  });

  test('an endpoint follows its template, unless it was changed otherwise', async () => {
    const { id: followerId, templateId } = await makeEndpoint();
    const body = { templateId, gpuTypeIds: [GPU] };
    const { id: otherId } = await json('POST', '/v1/endpoints', body);
    await rest.call('PATCH', `/v2/serverless/${otherId}`, { key: rest.alice.key, body: { image: 'own:1' } });
    const key = await rest.keyFor(rest.alice, 'templates:write');
    const refused = await send('PATCH', `/v1/templates/${templateId}`, { imageName: 'i:2' }, { key });
    expect(refused.statusCode).toBe(403);
    const template = await json('PATCH', `/v1/templates/${templateId}`, { imageName: 'i:2', readme: 'text' });
    expect(template).toMatchObject({ imageName: 'i:2', readme: 'text', env: { A: '1' } });
    expect((await v2(`/v2/serverless/${followerId}`)).image).toBe('i:2');
    expect((await json('GET', `/v1/endpoints/${followerId}`)).version).toBe(2);
    expect((await v2(`/v2/serverless/${otherId}`)).image).toBe('own:1');
  });

  test('public ones of others are listed when asked for, and read', async () => {
    const body = { name: unique(), imageName: 'public:1', isPublic: true };
    const { id } = (await rest.callV1('POST', '/v1/templates', { key: rest.bob.key, body })).json();
    const ids = async (query: string) =>
      (await json('GET', `/v1/templates${query}`)).map((one: { id: string }) => one.id);
    expect(await ids('')).not.toContain(id);
    expect(await ids('?includePublicTemplates=true')).toContain(id);
    expect((await json('GET', `/v1/templates/${id}`)).imageName).toBe('public:1');
    expect((await send('PATCH', `/v1/templates/${id}`, { name: 'x' })).statusCode).toBe(404);
    const official = await json('GET', '/v1/templates?includeRunpodTemplates=true');
    expect(official.some((one: { isRunpod: boolean }) => one.isRunpod)).toBe(true);
  });

  test('storage is added, moved and removed', async () => {
    const { id } = await makeTemplate({ volumeInGb: 0 });
    const update = (body: object) => json('POST', `/v1/templates/${id}/update`, body);
    expect(await update({ volumeInGb: 12 })).toMatchObject({ volumeInGb: 12, volumeMountPath: '/workspace' });
    expect(await update({ volumeMountPath: '/data' })).toMatchObject({ volumeInGb: 12, volumeMountPath: '/data' });
    expect(await update({ volumeInGb: 0 })).toMatchObject({ volumeInGb: 0 });
    expect((await send('DELETE', `/v1/templates/${id}`)).statusCode).toBe(204);
  });
});

test('network volumes are made, read, renamed, grown and deleted', async () => {
  const volume = await makeVolume();
  expect(await json('GET', '/v1/networkvolumes')).toContainEqual(volume);
  expect(await json('PATCH', `/v1/networkvolumes/${volume.id}`, { name: 'n' })).toEqual({ ...volume, name: 'n' });
  expect(await json('POST', `/v1/networkvolumes/${volume.id}/update`, { size: 20 })).toMatchObject({ size: 20 });
  expect((await send('PATCH', `/v1/networkvolumes/${volume.id}`, { size: 10 })).statusCode).toBe(400);
  const nowhere = await send('POST', '/v1/networkvolumes', { name: 'x', size: 10, dataCenterId: 'NOWHERE-1' });
  expect([nowhere.statusCode, nowhere.json().error]).toEqual([
    400,
    "dataCenterId: there is no data center 'NOWHERE-1'",
  ]);
  expect((await send('DELETE', `/v1/networkvolumes/${volume.id}`)).statusCode).toBe(204);
  expect((await send('GET', `/v1/networkvolumes/${volume.id}`)).statusCode).toBe(404);
});

test('registry credentials are saved and never returned', async () => {
  const body = { name: unique(), username: 'u', password: 'p-a-s-s' };
  const response = await send('POST', '/v1/containerregistryauth', body);
  expect(response.json()).toEqual({ id: expect.any(String), name: body.name });
  expect(await json('GET', '/v1/containerregistryauth')).toContainEqual(response.json());
  const { id } = response.json();
  expect((await send('GET', `/v1/containerregistryauth/${id}`)).body).not.toContain('p-a-s-s');
  expect((await send('DELETE', `/v1/containerregistryauth/${id}`)).statusCode).toBe(204);
  expect((await send('PATCH', `/v1/containerregistryauth/${id}`, {})).statusCode).toBe(405);
});

describe('billing', () => {
  const at = '2026-01-05T10:00:00Z';
  const period = 'startTime=2026-01-01T00:00:00Z&endTime=2026-02-01T00:00:00Z';
  beforeAll(async () => {
    const rows = [
      ['POD', 'p1', 'GPU', GPU, 2, 3600, 1.2],
      ['POD', 'p1', 'DISK', '', 50, 3600, 0.1],
      ['POD', 'p2', 'CPU', 'cpu3c', 4, 1800, 0.2],
      ['SERVERLESS', 'e1', 'GPU', GPU, 1, 60, 0.5],
      ['NETWORK_VOLUME', 'v1', 'STANDARD', '', 100, 3600, 0.3],
      ['NETWORK_VOLUME', 'v2', 'HIGH_PERFORMANCE', '', 40, 3600, 0.4],
    ];
    for (const row of rows) {
      await rest.database.pool.query(
        `insert into usage (starts_at, span, user_id, kind, resource_id, component, item, units, seconds, amount)
         values ($1, 'hour', $2, $3, $4, $5, $6, $7, $8, $9)`,
        [at, rest.alice.userId, ...row],
      );
    }
  });
  const time = '2026-01-05T00:00:00.000Z';

  test('of pods is by GPU type, where a disk counts with its pod, or by pod', async () => {
    expect(await json('GET', `/v1/billing/pods?${period}`)).toEqual([
      { time, gpuTypeId: GPU, amount: 1.3, timeBilledMs: 3_600_000, diskSpaceBilledGb: 50 },
      { time, gpuTypeId: 'cpu3c', amount: 0.2, timeBilledMs: 1_800_000, diskSpaceBilledGb: 0 },
    ]);
    const byPod = await json('GET', `/v1/billing/pods?${period}&grouping=podId&bucketSize=month&podId=p2`);
    expect(byPod).toEqual([
      { time: '2026-01-01T00:00:00.000Z', podId: 'p2', amount: 0.2, timeBilledMs: 1_800_000, diskSpaceBilledGb: 0 },
    ]);
    expect(await json('GET', `/v1/billing/pods?${period}&gpuTypeId=${encodeURIComponent(GPU)}`)).toHaveLength(1);
  });

  test('of endpoints is by endpoint; what usage does not know is a 400', async () => {
    expect(await json('GET', `/v1/billing/endpoints?${period}`)).toEqual([
      { time, endpointId: 'e1', amount: 0.5, timeBilledMs: 60_000, diskSpaceBilledGb: 0 },
    ]);
    for (const query of [
      'imageName=x',
      'templateId=x',
      'dataCenterId=x',
      'grouping=podId',
      'gpuTypeId=a&gpuTypeId=b',
      'bucketSize=eon',
    ]) {
      expect([query, (await send('GET', `/v1/billing/endpoints?${query}`)).statusCode]).toEqual([query, 400]);
    }
  });

  test('of network volumes has the fast ones apart', async () => {
    expect(await json('GET', `/v1/billing/networkvolumes?${period}`)).toEqual([
      {
        time,
        amount: 0.7,
        diskSpaceBilledGb: 140,
        highPerformanceStorageAmount: 0.4,
        highPerformanceStorageDiskSpaceBilledGb: 40,
      },
    ]);
    const other = await rest.callV1('GET', `/v1/billing/networkvolumes?${period}`, { key: rest.bob.key });
    expect(other.json()).toEqual([]);
  });
});

describe('errors', () => {
  test('have the text where clients look for it, and a schema failure is a 400 that lists the failures', async () => {
    const response = await send('POST', '/v1/pods', { imageName: 'A', gpuCount: -1, gpuType: GPU });
    expect(response.statusCode).toBe(400);
    expect(response.headers['content-type']).toBe('application/json');
    const { error, message, status, problems } = response.json();
    expect([message, status]).toEqual([error, 400]);
    expect(problems).toEqual(
      expect.arrayContaining(["$: additional property 'gpuType' is not allowed", '/gpuCount: must be >= 0']),
    );
    expect(error).toContain('/gpuCount: must be >= 0');
  });

  test('need a key, a permission, the right owner and a known path, as in version 2', async () => {
    const { id } = (await makePod()).json();
    expect((await send('GET', '/v1/pods', undefined, { key: 'wrong' })).statusCode).toBe(401);
    const missing = await rest.callV1('GET', '/v1/pods');
    expect([missing.statusCode, missing.headers['www-authenticate']]).toEqual([401, 'Bearer']);
    const reader = await rest.keyFor(rest.alice, 'read-only');
    expect((await send('DELETE', `/v1/pods/${id}`, undefined, { key: reader })).statusCode).toBe(403);
    const podReader = await rest.keyFor(rest.alice, 'pods:read');
    expect((await send('GET', `/v1/pods/${id}?includeTemplate=true`, undefined, { key: podReader })).statusCode).toBe(
      403,
    );
    const foreign = await send('GET', `/v1/pods/${id}`, undefined, { key: rest.bob.key });
    const none = await send('GET', '/v1/pods/nosuch');
    expect([foreign.statusCode, foreign.body]).toEqual([404, none.body]);
    for (const [method, path, status] of [
      ['GET', '/v1/nowhere', 404],
      ['PUT', '/v1/pods', 405],
      ['GET', '/v1/pods/%zz', 400],
    ] as const) {
      expect([path, (await rest.callV1(method, path, { key: rest.alice.key })).statusCode]).toEqual([path, status]);
    }
    const text = { headers: { 'content-type': 'text/plain' } };
    expect((await send('POST', '/v1/pods', 'x', text)).statusCode).toBe(415);
    expect((await send('POST', '/v1/pods', '{"name":')).statusCode).toBe(400);
    expect((await send('POST', '/v1/pods', { name: 'n'.repeat(1_100_000) })).statusCode).toBe(413);
  });
});

test('requests count against the rate limits of version 2; a refusal has Retry-After and the shape of version 1', async () => {
  const limited = await startRestApp({
    rateLimiter: {
      check: async () => ({
        headers: { ratelimit: '"minute";r=0;t=12' },
        exceeded: { window: 'minute', retryAfterSeconds: 12 },
      }),
    },
  });
  try {
    const response = await limited.callV1('POST', '/v1/pods', { key: limited.alice.key, body: '{' });
    expect([response.statusCode, response.headers['retry-after']]).toEqual([429, '12']);
    expect(response.headers.ratelimit).toBe('"minute";r=0;t=12');
    const text = 'rate limit exceeded for the minute window';
    expect(response.json()).toEqual({ error: text, message: text, status: 429 });
  } finally {
    await limited.close();
  }
});

describe('the description', () => {
  test('needs no key and has an example of each schema, which fits it', async () => {
    const document = (await rest.callV1('GET', '/v1/openapi.json')).json();
    expect(document).toMatchObject({ openapi: '3.1.0', servers: [{ url: 'http://podyard.test:8080' }] });
    const named = V1_SCHEMAS as readonly (readonly [object, unknown])[] as readonly (readonly [
      { $id: string },
      unknown,
    ])[];
    expect(Object.keys(document.components.schemas).sort()).toEqual(named.map(([{ $id }]) => $id).sort());
    const compile = createValidatorCompiler(named.map(([schema]) => schema));
    for (const [schema, example] of named) {
      const validate = compile({ schema, method: 'POST', url: '/', httpPart: 'body' });
      expect([schema.$id, validate(example)]).toEqual([schema.$id, { value: example }]);
    }
    const { operations } = {
      operations: Object.values(document.paths).flatMap((path) => Object.values(path as object)),
    };
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBe(35);
  });
});

interface Description {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>
  >;
  components: object;
}

/** Returns a check of answers against a description; an answer may have no member that it does not name. */
async function checkerOf(description: Description): Promise<typeof checkAnswer> {
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': true } });
  ajv.addSchema(closeObjects(resolveResponses(description)) as object, 'description');
  return (method, url, status, body) => {
    const path = url.split('?')[0]!;
    const found = Object.entries(description.paths).find(
      ([template, operations]) =>
        method.toLowerCase() in operations && new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    if (!found) return;
    const responses = found[1][method.toLowerCase()]!.responses;
    if (!(status in responses)) throw new Error(`${method} ${path}: ${status} is not described`);
    const content = responses[status]!.content;
    if (content === undefined) return expect(body).toBe('');
    const pointer = [
      'paths',
      found[0],
      method.toLowerCase(),
      'responses',
      String(status),
      'content',
      'application/json',
      'schema',
    ]
      .map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
      .join('/');
    const validate = ajv.compile({ $ref: `description#/${pointer}` });
    if (!validate(JSON.parse(body)))
      throw new Error(`${method} ${path} ${status}: ${ajv.errorsText(validate.errors)}\n${body}`);
  };
}

function closeObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeObjects);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, closeObjects(one)]));
  if (copy.type === 'object' && copy.properties && !('additionalProperties' in copy)) copy.additionalProperties = false;
  return copy;
}
