import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RestFixture, startRestApp } from '../../test/rest-app.ts';
import type { GpuStock, Stock } from '../domain/catalog/capacity-source.ts';

/** docs/interface/graphql.md, "Pods". */
let rest: RestFixture;
let stock: Stock;

const gpus = (gpuTypeId: string, pool: string, total: number): GpuStock => ({
  pool,
  gpuTypeId,
  dataCenterId: 'LOCAL-1',
  total,
  free: total,
});
const RTX_4090 = 'NVIDIA GeForce RTX 4090';
const L4 = 'NVIDIA L4';

beforeAll(async () => {
  rest = await startRestApp({
    capacity: { read: async () => stock },
    podFigures: {
      read: async (ids) =>
        new Map(ids.map((id) => [id, { cpuUtil: 12, memoryUtil: 34, gpus: [{ util: 56, memoryUtil: 78 }] }])),
    },
  });
});
afterAll(() => rest.close());
beforeEach(async () => {
  stock = { gpus: [gpus(RTX_4090, 'ADA_24', 2)], cpus: 16, memoryBytes: 64 * 2 ** 30 };
  await rest.database.pool.query('delete from pods; delete from templates');
});

const ask = (query: string, variables: object = {}, key = rest.alice.key) => rest.graphql(query, { key, variables });
const ALL = `id name imageName env desiredStatus costPerHr containerDiskInGb dockerArgs dockerId gpuCount memoryInGb vcpuCount podType
  ports volumeInGb volumeMountPath networkVolumeId templateId machineId uptimeSeconds createdAt lastStatusChange
  machine { podHostId gpuDisplayName location gpuTypeId dataCenterId }
  runtime { uptimeInSeconds ports { ip isIpPublic privatePort publicPort type } gpus { id gpuUtilPercent memoryUtilPercent }
    container { cpuPercent memoryPercent } }`;
const deploy = (input: object) =>
  ask(`mutation ($input: PodFindAndDeployOnDemandInput) { podFindAndDeployOnDemand(input: $input) { ${ALL} } }`, {
    input: { name: 'p', imageName: 'ubuntu:24.04', gpuTypeId: RTX_4090, ...input },
  });
async function deployed(input: object = {}) {
  const { data, errors } = await deploy(input);
  expect(errors).toBeUndefined();
  return data.podFindAndDeployOnDemand;
}
const viaRest = async (id: string) => (await rest.call('GET', `/v2/pods/${id}`, { key: rest.alice.key })).json();

describe('podFindAndDeployOnDemand', () => {
  test('creates the pod that REST shows', async () => {
    const pod = await deployed({
      gpuCount: 2,
      volumeInGb: 20,
      containerDiskInGb: 7,
      dockerArgs: 'sleep 1',
      ports: '8888/http,22/tcp',
      volumeMountPath: '/data',
      env: [{ key: 'A', value: 'x=y' }],
      cloudType: 'SECURE',
    });
    expect(pod).toMatchObject({
      name: 'p',
      imageName: 'ubuntu:24.04',
      env: ['A=x=y'],
      desiredStatus: 'RUNNING',
      containerDiskInGb: 7,
      dockerArgs: 'sleep 1',
      gpuCount: 2,
      ports: '8888/http,22/tcp',
      volumeInGb: 20,
      volumeMountPath: '/data',
      machine: { gpuDisplayName: 'RTX 4090', gpuTypeId: RTX_4090 },
      runtime: null,
    });
    expect(pod.costPerHr).toBeGreaterThan(0);
    expect(await viaRest(pod.id)).toMatchObject({
      image: 'ubuntu:24.04',
      args: 'sleep 1',
      gpu: { id: RTX_4090, count: 2 },
      mounts: { persistent: { size: 20, path: '/data' } },
      env: { A: 'x=y' },
      cloud: 'SECURE',
    });
  });

  test('takes absent and empty fields from a template', async () => {
    const { data } = await ask(
      `mutation { saveTemplate(input: {name: "t", imageName: "t:1", containerDiskInGb: 9, volumeInGb: 30, volumeMountPath: "/w",
         dockerArgs: "serve", ports: "1/tcp", env: [{key: "T", value: "1"}]}) { id } }`,
    );
    const pod = await deployed({
      imageName: '',
      dockerArgs: '',
      ports: '',
      volumeInGb: 0,
      env: [{ key: 'P', value: '2' }],
      templateId: data.saveTemplate.id,
    });
    expect(pod).toMatchObject({ imageName: 't:1', dockerArgs: 'serve', ports: '1/tcp', containerDiskInGb: 9 });
    expect(pod).toMatchObject({ volumeInGb: 30, volumeMountPath: '/w', templateId: data.saveTemplate.id });
    expect(new Set(pod.env)).toEqual(new Set(['T=1', 'P=2']));
    const { errors } = await ask('mutation { deleteTemplate(templateName: "t") }');
    expect(errors).toMatchObject([{ message: 'The template is in use by a pod.', extensions: { code: 'CONFLICT' } }]);
  });

  test('tries the listed types in order, and fails with the text that clients expect without capacity', async () => {
    expect((await deployed({ gpuTypeIdList: [L4, RTX_4090] })).machine.gpuTypeId).toBe(RTX_4090);
    for (const input of [{ gpuTypeId: L4 }, { gpuCount: 8 }, { gpuTypeIdList: [L4], cloudType: 'COMMUNITY' }]) {
      const { data, errors } = await deploy(input);
      expect(data).toEqual({ podFindAndDeployOnDemand: null });
      expect(errors).toMatchObject([
        {
          message: expect.stringContaining('no longer any instances available'),
          extensions: { code: 'BAD_USER_INPUT' },
        },
      ]);
    }
  });

  test('mounts a network volume instead of its own storage', async () => {
    const { data } = await ask(
      'mutation { createNetworkVolume(input: {name: "v", size: 10, dataCenterId: "LOCAL-1"}) { id dataCenter { name } } }',
    );
    const { id } = data.createNetworkVolume;
    const pod = await deployed({ networkVolumeId: id, volumeInGb: 20 });
    expect(pod).toMatchObject({ networkVolumeId: id, volumeInGb: 0, volumeMountPath: '/workspace' });
    const inUse = await ask(`mutation { deleteNetworkVolume(input: {id: "${id}"}) }`);
    expect(inUse.errors).toMatchObject([{ extensions: { code: 'CONFLICT' } }]);
  });

  test.each([
    ['no GPU type', { gpuTypeId: '' }, 'gpuTypeId: must not be empty'],
    ['an unknown GPU type', { gpuTypeId: 'nope' }, "gpu.id: there is no GPU type 'nope'"],
    ['no image', { imageName: null }, 'image: required, unless a template sets it'],
    ['a disk of 0', { containerDiskInGb: 0 }, 'containerDiskInGb: must be at least 1'],
    ['ports in another form', { ports: 'x' }, /^ports: 'x' is not/],
    ['a relative path', { volumeMountPath: 'x' }, "volumeMountPath: must begin with '/'"],
  ])('refuses %s', async (_, input, message) => {
    const { errors } = await deploy(input);
    expect(errors![0]!.extensions.code).toBe('BAD_USER_INPUT');
    expect(errors![0]!.message).toMatch(message);
  });
});

test('deployCpuPod reads flavor, vCPUs and memory from the instance', async () => {
  const cpu = (instanceId: string) =>
    ask(
      'mutation ($i: DeployCpuPodInput) { deployCpuPod(input: $i) { gpuCount vcpuCount memoryInGb machine { gpuTypeId } } }',
      {
        i: { instanceId, imageName: 'i:1' },
      },
    );
  expect((await cpu('cpu3c-2-4')).data.deployCpuPod).toEqual({
    gpuCount: 0,
    vcpuCount: 2,
    memoryInGb: 4,
    machine: { gpuTypeId: null },
  });
  for (const wrong of ['cpu3c-2-8', 'nope-2-4', 'cpu3c']) {
    expect((await cpu(wrong)).errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
  }
});

test('a pod stops, resumes with its GPUs, is terminated and then not found', async () => {
  const { id } = await deployed();
  const run = (mutation: string) => ask(`mutation { ${mutation} }`);
  expect((await run(`podStop(input: {podId: "${id}"}) { id desiredStatus }`)).data.podStop).toEqual({
    id,
    desiredStatus: 'EXITED',
  });
  expect((await run(`podStop(input: {podId: "${id}"}) { id }`)).errors).toMatchObject([
    { extensions: { code: 'CONFLICT' } },
  ]);
  expect((await run(`podResume(input: {podId: "${id}", gpuCount: 2}) { id }`)).errors).toMatchObject([
    { message: 'gpuCount: must be 1, as the pod has; it cannot change', extensions: { code: 'BAD_USER_INPUT' } },
  ]);
  expect((await run(`podResume(input: {podId: "${id}", gpuCount: 1}) { desiredStatus }`)).data.podResume).toEqual({
    desiredStatus: 'RUNNING',
  });
  expect(await run(`podTerminate(input: {podId: "${id}"})`)).toEqual({ data: { podTerminate: null } });
  const { errors } = await ask(`{ pod(input: {podId: "${id}"}) { id } }`);
  expect(errors).toMatchObject([{ message: 'Pod not found', extensions: { code: 'NOT_FOUND' } }]);
  expect((await ask('{ myself { pods { id } } }')).data.myself.pods).toEqual([]);
  expect((await run(`podTerminate(input: {podId: "${id}"})`)).errors).toMatchObject([
    { message: 'pod not found to terminate', extensions: { code: 'NOT_FOUND' } },
  ]);
});

test('a running pod shows live figures and published ports', async () => {
  const { id } = await deployed({ ports: '22/tcp,80/http' });
  await rest.database.pool.query(
    `update pods set phase = 'RUNNING', started_at = now() - interval '90 seconds', phase_revision = revision,
       published_ports = '[{"private": 22, "public": 30022, "type": "tcp", "ip": "192.0.2.1"}]' where id = $1`,
    [id],
  );
  const { data, errors } = await ask(`{ pod(input: {podId: "${id}"}) { ${ALL} } myself { pods { ${ALL} } } }`);
  expect(errors).toBeUndefined();
  expect(data.myself.pods).toEqual([data.pod]);
  expect(data.pod.runtime).toEqual({
    uptimeInSeconds: expect.any(Number),
    ports: [{ ip: '192.0.2.1', isIpPublic: true, privatePort: 22, publicPort: 30022, type: 'tcp' }],
    gpus: [{ id: `${id}-0`, gpuUtilPercent: 56, memoryUtilPercent: 78 }],
    container: { cpuPercent: 12, memoryPercent: 34 },
  });
  expect(data.pod.runtime.uptimeInSeconds).toBeGreaterThanOrEqual(90);
});
