import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ModelHub } from '../../test/model-hub.ts';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import type { GpuStock, Stock } from '../domain/catalog/capacity-source.ts';
import { dataCenters } from '../domain/catalog/catalog.ts';

/** docs/interface/graphql.md, "Pods", "Endpoints" and "Catalogue, volumes, registries and account": what clients of the public API send. */
let hub: ModelHub;
let rest: RestFixture;
let stock: Stock;

const RTX_4090 = 'NVIDIA GeForce RTX 4090';
const gpus = (dataCenterId: string, cudaVersion: string, free: number): GpuStock => ({
  pool: 'ADA_24',
  gpuTypeId: RTX_4090,
  dataCenterId,
  total: 4,
  free,
  cudaVersion,
});

beforeAll(async () => {
  hub = await ModelHub.start(['org/model', 'org/other']);
  rest = await startRestApp({
    hubUrl: hub.url,

    capacity: { read: async () => stock },
    podFigures: {
      read: async (ids) =>
        new Map(ids.map((id) => [id, { cpuUtil: 12, memoryUtil: 34, gpus: [{ util: 50, memoryUtil: 70 }] }])),
    },
  });
});
afterAll(async () => {
  await rest.close();
  await hub.close();
});
beforeEach(async () => {
  stock = { gpus: [gpus('LOCAL-1', '12.8', 4), gpus('EU-RO-1', '13.0', 0)], cpus: 16, memoryBytes: 2 ** 36 };
  await rest.database.pool.query('delete from pods');
});

const ask = (query: string, variables: object = {}, key = rest.alice.key) => rest.graphql(query, { key, variables });
async function data(query: string, variables?: object) {
  const answer = await ask(query, variables);
  expect(answer.errors).toBeUndefined();
  return answer.data;
}
async function refusal(query: string, variables?: object): Promise<string> {
  const { errors } = await ask(query, variables);
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
  return errors![0]!.message;
}
const deploy = `mutation ($input: PodFindAndDeployOnDemandInput) { podFindAndDeployOnDemand(input: $input) { id } }`;
const gpuPod = (input: object = {}) => ({ input: { imageName: 'i:1', gpuTypeId: RTX_4090, ...input } });
const created = async (input: object = {}): Promise<string> =>
  (await data(deploy, gpuPod(input))).podFindAndDeployOnDemand.id;

describe('a CPU pod', () => {
  test('takes what it does not say from the built-in template that clients name', async () => {
    const { deployCpuPod: pod } = await data(
      'mutation { deployCpuPod(input: {instanceId: "cpu3c-2-4", templateId: "runpod-ubuntu"}) { imageName ports cpuFlavorId } }',
    );
    expect(pod).toEqual({
      imageName: 'runpod/base:1.0.2-ubuntu2204',
      ports: '22/tcp,8888/http',
      cpuFlavorId: 'cpu3c',
    });
  });

  test.each(['', ', instanceId: ""', ', instanceId: null'])('without an instance%s is cpu3c-2-4', async (instance) => {
    const { deployCpuPod: pod } = await data(
      `mutation { deployCpuPod(input: {imageName: "i:1"${instance}}) { vcpuCount memoryInGb cpuFlavorId } }`,
    );
    expect(pod).toEqual({ vcpuCount: 2, memoryInGb: 4, cpuFlavorId: 'cpu3c' });
  });

  test.each(['deployCpuPodInput', 'DeployCpuPodInput'])('is declared as %s', async (type) => {
    const { deployCpuPod: pod } = await data(
      `mutation ($input: [${type}!]!) { deployCpuPod(input: {instanceId: "cpu3c-2-4", imageName: "i:1"}) { id } }`,
      { input: [{ instanceId: 'cpu3c-2-4' }] },
    );
    expect(pod.id).toMatch(/./);
  });
});

describe('a bid', () => {
  const rent = (bidPerGpu: unknown, more: object = {}) =>
    [
      'mutation ($input: PodRentInterruptableInput!) { podRentInterruptable(input: $input) { id costPerHr podType } }',
      { input: { ...gpuPod(more).input, bidPerGpu } },
    ] as const;

  test('that covers the price gets a pod that is not interrupted', async () => {
    const { podRentInterruptable: pod } = await data(...rent(9, { gpuCount: 2 }));
    expect(pod).toMatchObject({ podType: 'RESERVED' });
    expect(pod.costPerHr).toBeLessThan(18);
  });

  test('below the price gets none, in the words that clients know, with the price', async () => {
    for (const bid of [0, 0.01, -1]) {
      expect(await refusal(...rent(bid))).toMatch(
        /^There are no longer any instances available for a bid of .* USD per GPU and hour: pods cost 0\.\d+ and are not/,
      );
    }
  });

  test('gets the cheaper cloud when it covers only that', async () => {
    const { gpuTypes } = await data(`{ gpuTypes(input: {id: "${RTX_4090}"}) { securePrice communityPrice } }`);
    const { securePrice, communityPrice } = gpuTypes[0];
    expect(communityPrice).toBeLessThan(securePrice);
    const { podRentInterruptable: pod } = await data(...rent(communityPrice));
    expect(pod.costPerHr).toBe(communityPrice);
  });

  test('resumes a stopped pod, if it covers the price', async () => {
    const id = await created();
    await data(`mutation { podStop(input: {podId: "${id}"}) { id } }`);
    const resume = (bid: number, count = 1) =>
      `mutation { podBidResume(input: {podId: "${id}", bidPerGpu: ${bid}, gpuCount: ${count}}) { desiredStatus } }`;
    expect(await refusal(resume(0.01))).toMatch(/for a bid of 0.01 USD per GPU and hour/);
    expect(await refusal(resume(9, 2))).toBe('gpuCount: must be 1, as the pod has; it cannot change');
    expect((await data(resume(9))).podBidResume).toEqual({ desiredStatus: 'RUNNING' });
  });
});

describe('podEditJob', () => {
  const edit = (id: string, fields: string) =>
    `mutation { podEditJob(input: {podId: "${id}", ${fields}}) { imageName dockerArgs env ports containerDiskInGb volumeInGb
       volumeMountPath containerRegistryAuthId } }`;

  test('changes what is given and keeps the rest', async () => {
    const id = await created({
      volumeInGb: 20,
      ports: '22/tcp',
      env: [{ key: 'A', value: '1' }],
      dockerArgs: 'sleep 1',
    });
    expect((await data(edit(id, 'imageName: "i:2", volumeInGb: 0, dockerArgs: null'))).podEditJob).toMatchObject({
      imageName: 'i:2',
      dockerArgs: 'sleep 1',
      env: ['A=1'],
      ports: '22/tcp',
      volumeInGb: 20,
      volumeMountPath: '/workspace',
    });
    const changed = await data(
      edit(
        id,
        'dockerArgs: "", env: [], ports: "80/http", containerDiskInGb: 9, volumeInGb: 30, volumeMountPath: "/data"',
      ),
    );
    expect(changed.podEditJob).toMatchObject({
      imageName: 'i:2',
      dockerArgs: '',
      env: [],
      ports: '80/http',
      containerDiskInGb: 9,
      volumeInGb: 30,
      volumeMountPath: '/data',
    });
  });

  test.each([
    ['volumeInGb: 10', 'mounts.persistent.size: can only grow, and is 20 GB now'],
    ['containerDiskInGb: 0', 'containerDiskInGb: must be at least 1'],
    ['ports: "x"', "ports: 'x' is not <port>/<protocol>, such as 8888/http or 22/tcp"],
    ['containerRegistryAuthId: "none"', "registry: there is no registry 'none'"],
  ])('refuses %s', async (fields, message) => {
    expect(await refusal(edit(await created({ volumeInGb: 20 }), fields))).toBe(message);
  });
});

describe('stopAfter and terminateAfter', () => {
  const LATER = '2099-01-31T12:00:00.000Z';
  const times = async (id: string) =>
    (await data(`{ pod(input: {podId: "${id}"}) { stopAfter terminateAfter statusReason } }`)).pod;

  test('are kept with the pod and shown, also over REST', async () => {
    const id = await created({ stopAfter: '2099-01-31T13:00:00+01:00', terminateAfter: LATER });
    expect(await times(id)).toEqual({ stopAfter: LATER, terminateAfter: LATER, statusReason: null });
    const lifetime = await rest.call('GET', `/v2/pods/${id}/lifetime`, { key: rest.alice.key });
    expect(lifetime.json()).toEqual({ stopAfter: LATER, terminateAfter: LATER });
    expect(await times(await created({ stopAfter: null, terminateAfter: '' }))).toMatchObject({ stopAfter: null });
    const { deployCpuPod: cpu } = await data(
      `mutation { deployCpuPod(input: {imageName: "i", instanceId: "cpu3c-2-4", terminateAfter: "${LATER}"}) { terminateAfter } }`,
    );
    expect(cpu).toEqual({ terminateAfter: LATER });
  });

  test.each([
    ['2001-01-31T12:00:00Z', /^stopAfter: 2001-01-31T12:00:00.000Z is over; it is \S+Z$/],
    ['soon', /^stopAfter: must be a time with its zone, such as 2030-01-31T12:00:00Z$/],
    ['2099-01-31T12:00:00', /^stopAfter: must be a time with its zone/],
    [4_000_000_000, /^stopAfter: must be a time with its zone/],
    [{ in: '1h' }, /^stopAfter: must be a time with its zone/],
    [['2099-01-31T12:00:00Z'], /^stopAfter: must be a time with its zone/],
  ])('of %o are refused', async (stopAfter, message) => {
    expect(await refusal(deploy, gpuPod({ stopAfter }))).toMatch(message);
  });
});

test('compliance restricts the data centers of a pod, and is refused where there is none', async () => {
  const id = await created({ compliance: ['GDPR'], dataCenterId: 'LOCAL-1,EU-RO-1' });
  const { pod } = await data(`{ pod(input: {podId: "${id}"}) { machineId } }`);
  expect(pod.machineId).toBe('EU-RO-1');
  expect(await refusal(deploy, gpuPod({ compliance: ['GDPR', 'ITAR'], dataCenterId: 'LOCAL-1' }))).toBe(
    'compliance: none of LOCAL-1 has GDPR and ITAR',
  );
  expect(await created({ compliance: [] })).toMatch(/./);
  const { errors } = await rest.graphql(deploy, {
    key: rest.alice.key,
    variables: gpuPod({ compliance: ['SECRET'] }),
    status: 400,
  });
  expect(errors![0]!.message).toContain('does not exist in "Compliance" enum');
});

test('a pod runs only where the driver has the CUDA version', async () => {
  const at = async (input: object) =>
    (await data(`{ pod(input: {podId: "${await created(input)}"}) { machineId } }`)).pod;
  expect(await at({ allowedCudaVersions: ['12.8'] })).toEqual({ machineId: 'LOCAL-1' });
  expect(await at({ minCudaVersion: '13.0' })).toEqual({ machineId: 'EU-RO-1' });
  expect(await at({ minCudaVersion: '', allowedCudaVersions: [] })).toEqual({ machineId: 'LOCAL-1' });
  const none = await refusal(deploy, gpuPod({ allowedCudaVersions: ['11.8', '12.0'] }));
  expect(none).toMatch(/^There are no longer any instances available .* but the drivers support 12\.8 and 13\.0/);
  expect(await refusal(deploy, gpuPod({ minCudaVersion: 'new' }))).toContain("'new' is not a version like 12.8");
});

test('lowestPrice tells counts and CUDA versions, of the data centers that are asked for', async () => {
  const lowest = async (input: string) =>
    (
      await data(`{ gpuTypes(input: {id: "${RTX_4090}"}) { lowestPrice(input: {${input}}) { stockStatus availableGpuCounts
        maxUnreservedGpuCount gpuTypeCudaVersions { cudaVersion availability } } } }`)
    ).gpuTypes[0].lowestPrice;
  const versions = [
    { cudaVersion: '13.0', availability: 'UNAVAILABLE' },
    { cudaVersion: '12.8', availability: 'AVAILABLE' },
  ];
  expect(await lowest('gpuCount: 1')).toEqual({
    stockStatus: 'High',
    availableGpuCounts: [1, 2, 3, 4],
    maxUnreservedGpuCount: 4,
    gpuTypeCudaVersions: versions,
  });
  expect(await lowest('allowedCudaVersions: ["13.0"]')).toMatchObject({ stockStatus: 'None', availableGpuCounts: [] });
  expect(await lowest('allowedCudaVersions: ["12.8"], dataCenterId: "LOCAL-1"')).toMatchObject({
    stockStatus: 'High',
    gpuTypeCudaVersions: [versions[1]],
  });
  expect(await lowest('minCudaVersion: "13.0"')).toMatchObject({ stockStatus: 'None' });
  expect(await lowest('compliance: [GDPR]')).toMatchObject({ stockStatus: 'None', gpuTypeCudaVersions: [versions[0]] });
});

test('gpuAvailability and specifics answer for the wanted size', async () => {
  const { dataCenters } = await data(
    `{ dataCenters { id one: gpuAvailability(input: {gpuCount: 1}) { gpuTypeDisplayName stockStatus }
         four: gpuAvailability(input: {gpuCount: 4, secureCloud: true}) { stockStatus }
         newer: gpuAvailability(input: {minCudaVersion: "13.0"}) { stockStatus } } }`,
  );
  expect(dataCenters.find(({ id }: { id: string }) => id === 'LOCAL-1')).toEqual({
    id: 'LOCAL-1',
    one: [{ gpuTypeDisplayName: 'RTX 4090', stockStatus: 'High' }],
    four: [{ stockStatus: 'Low' }],
    newer: [],
  });
  const { cpuFlavors } = await data(
    `{ cpuFlavors { id here: specifics(input: {instanceId: "cpu3c-4-8"}) { stockStatus securePrice }
         there: specifics(input: {instanceId: "cpu3c-4-8", dataCenterId: "US-TX-1"}) { stockStatus } } }`,
  );
  const flavor = (id: string) => cpuFlavors.find((one: { id: string }) => one.id === id);
  expect(flavor('cpu3c')).toMatchObject({ here: { securePrice: expect.any(Number) }, there: { stockStatus: 'None' } });
  expect(flavor('cpu3g')).toMatchObject({ here: null, there: null });
  expect(
    (await ask('{ cpuFlavors { specifics(input: {instanceId: "huge"}) { stockStatus } } }')).errors![0],
  ).toMatchObject({ message: expect.stringMatching(/^instanceId: must be/), extensions: { code: 'BAD_USER_INPUT' } });
});

test('a running pod has telemetry, one that does not run has none', async () => {
  const id = await created();
  const fields = `port lastStartedAt latestTelemetry { state cpuUtilization memoryUtilization
    averageGpuMetrics { percentUtilization memoryUtilization temperatureCelcius } individualGpuMetrics { id percentUtilization } }`;
  const read = async () => (await data(`{ pod(input: {podId: "${id}"}) { ${fields} } }`)).pod;
  expect(await read()).toEqual({ port: null, lastStartedAt: null, latestTelemetry: null });
  await rest.database.pool.query(`update pods set phase = 'RUNNING', started_at = now(), phase_revision = revision`);
  expect(await read()).toEqual({
    port: null,
    lastStartedAt: expect.stringMatching(/Z$/),
    latestTelemetry: {
      state: 'running',
      cpuUtilization: 12,
      memoryUtilization: 34,
      averageGpuMetrics: { percentUtilization: 50, memoryUtilization: 70, temperatureCelcius: null },
      individualGpuMetrics: [{ id: `${id}-0`, percentUtilization: 50 }],
    },
  });
});

describe('saveEndpoint', () => {
  const save = `mutation ($input: EndpointInput!) { saveEndpoint(input: $input)
    { id computeType modelReferences compliance flashEnvironmentId activeBuildid idePodId } }`;
  const input = (more: object) => ({
    input: { name: 'e', template: { imageName: 'i:1' }, gpuIds: 'ADA_24', ...more },
  });

  test('keeps model references; a save without them clears them', async () => {
    const { saveEndpoint: made } = await data(save, input({ modelReferences: ['org/model', '', ' org/other '] }));
    expect(made).toEqual({
      id: made.id,
      computeType: 'GPU',
      modelReferences: ['org/model', 'org/other'],
      compliance: [],
      flashEnvironmentId: null,
      activeBuildid: null,
      idePodId: null,
    });
    const { saveEndpoint: saved } = await data(save, { input: { id: made.id } });
    expect(saved.modelReferences).toEqual([]);
  });

  test('makes a CPU endpoint of instances', async () => {
    const { saveEndpoint: made } = await data(
      save,
      input({ gpuIds: '', instanceIds: ['cpu3c-2-4'], computeType: 'CPU' }),
    );
    expect(made.computeType).toBe('CPU');
  });

  test.each([
    [{ compliance: ['GDPR'] }, 'compliance: is not supported for endpoints; list data centers in locations'],
    [{ hubReleaseId: 'x' }, 'hubReleaseId: there is no hub here; set template or templateId'],
    [{ modelReferences: Array(21).fill('m') }, 'modelReferences: must not name more than 20 models'],
    [{ modelReferences: ['m'.repeat(1_001)] }, 'modelReferences: a name must not be longer than 1000 characters'],
  ])('refuses %o', async (more, message) => {
    expect(await refusal(save, input(more))).toBe(message);
  });
});

test('a variable that is not used is no error; a thousand of them are', async () => {
  expect(await data('query ($unused: Int) { myself { id } }')).toMatchObject({ myself: { id: rest.alice.userId } });
  const many = Array.from({ length: 1_000 }, (_, i) => `$v${i}: Int`).join(' ');
  const { errors } = await rest.graphql(`query (${many}) { myself { id } }`, { key: rest.alice.key, status: 400 });
  expect(errors![0]!.message).toMatch(/too costly/);
});

test('a body may have the member `variable`, and no other unknown one', async () => {
  const post = (payload: object) =>
    rest.callGraphql({ method: 'POST', url: `/graphql?api_key=${rest.alice.key}`, payload });
  expect((await post({ query: '{ myself { id } }', variable: {} })).statusCode).toBe(200);
  expect((await post({ query: '{ myself { id } }', variablez: {} })).statusCode).toBe(400);
});

test('questions about a large stock, as many as a document may have, are answered soon, and long lists are refused', async () => {
  const places = dataCenters();
  stock = {
    ...stock,
    gpus: Array.from({ length: 2_000 }, (_, i) => gpus(places[i % places.length]!.id, `12.${i % 10}`, 4)),
  };
  const many = (count: number, field: (i: number) => string) =>
    Array.from({ length: count }, (_, i) => `a${i}: ${field(i)}`).join(' ');
  const ask = many(160, (i) => `gpuAvailability(input: {minCudaVersion: "12.${i}"}) { available }`);
  const startedAt = performance.now();
  expect((await data(`{ dataCenters { ${ask} } }`)).dataCenters[0].a0).toEqual([{ available: true }]);
  expect(performance.now() - startedAt).toBeLessThan(8_000); // half a second; 16 without sharing
  const versions = Array.from({ length: 51 }, (_, i) => `"12.${i}"`).join();
  const { errors } = await rest.graphql(
    `{ gpuTypes(input: {id: "${RTX_4090}"}) { lowestPrice(input: {allowedCudaVersions: [${versions}]}) { stockStatus } } }`,
  );
  expect(errors![0]!.message).toBe('allowedCudaVersions: must not list more than 50 versions');
  const pod = gpuPod({ allowedCudaVersions: Array.from({ length: 51 }, (_, i) => `12.${i}`) });
  expect(await refusal(deploy, pod)).toBe('allowedCudaVersions: must not list more than 50 versions');
});
