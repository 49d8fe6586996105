import { expect, test } from 'vitest';
import { workloadSpec } from '../../../test/workload-spec.ts';
import { containerConfig, gpuOf, portsOf } from './container-config.ts';
import { parseGpuUsage, parseNvidiaSmi } from './nvidia-gpus.ts';

const SPEC = workloadSpec({
  id: 'w1',
  image: 'a:v1',
  env: { A: '1', B: 'x=y' },
  diskGb: 20,
  gpu: { pool: 'ADA_24', count: 2 },
  memoryBytes: 2 ** 30,
  cpus: 1.5,
  mounts: [{ source: '/data/a:b', target: '/workspace' }],
});
const PLACE = {
  installation: 'i',
  network: 'podyard',
  address: null,
  devices: [],
  publishIp: '127.0.0.1',
  canLimitDisk: false,
};

test('a container gets limits, labels and a bind mount, and no unneeded privileges', () => {
  expect(containerConfig(SPEC, PLACE)).toMatchObject({
    Image: 'a:v1',
    Env: ['A=1', 'B=x=y'],
    Labels: { 'podyard.installation': 'i', 'podyard.id': 'w1', 'podyard.kind': 'worker', 'podyard.gpu': 'ADA_24:2' },
    HostConfig: {
      Memory: 2 ** 30,
      MemorySwap: 2 ** 30,
      NanoCpus: 1_500_000_000,
      PidsLimit: 4096,
      OomScoreAdj: 500,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: ['MKNOD', 'NET_RAW', 'SETPCAP'],
      Mounts: [{ Type: 'bind', Source: '/data/a:b', Target: '/workspace' }],
    },
  });
});

test('the image keeps its own command unless args say otherwise', () => {
  expect(containerConfig(SPEC, PLACE)).not.toHaveProperty('Cmd');
  expect(containerConfig({ ...SPEC, args: 'a "b c"' }, PLACE)).toMatchObject({ Cmd: ['a', 'b c'] });
  expect(containerConfig({ ...SPEC, args: '{"entrypoint":["x"],"cmd":[]}' }, PLACE)).toMatchObject({
    Entrypoint: ['x'],
    Cmd: [],
  });
});

test('a pod’s TCP ports are published on the configured address, its HTTP ports on loopback, a worker’s nowhere', () => {
  const ports = ['8000/http', '22/tcp', '22/http'];
  const pod = containerConfig({ ...SPEC, kind: 'pod', ports }, { ...PLACE, publishIp: '10.0.0.1' });
  expect(pod).toMatchObject({
    ExposedPorts: { '8000/tcp': {}, '22/tcp': {} },
    HostConfig: {
      PortBindings: { '8000/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }], '22/tcp': [{ HostIp: '10.0.0.1' }] },
    },
  });
  expect(containerConfig({ ...SPEC, ports }, PLACE)).toMatchObject({
    ExposedPorts: {},
    HostConfig: { PortBindings: {} },
  });
  const { Labels } = pod as { Labels: Record<string, string> };
  expect(portsOf(Labels, (port) => (port === 22 ? { ip: '10.0.0.1', public: 49_153 } : undefined))).toEqual([
    { private: 8000, type: 'http', public: null, ip: null },
    { private: 22, type: 'tcp', public: 49_153, ip: '10.0.0.1' },
    { private: 22, type: 'http', public: 49_153, ip: '10.0.0.1' },
  ]);
});

test('an address and a disk limit are requested where the engine supports them', () => {
  expect(JSON.stringify(containerConfig(SPEC, PLACE))).not.toMatch(/StorageOpt|IPAMConfig/);
  expect(containerConfig(SPEC, { ...PLACE, address: '172.20.9.9', canLimitDisk: true })).toMatchObject({
    NetworkingConfig: { EndpointsConfig: { podyard: { IPAMConfig: { IPv4Address: '172.20.9.9' } } } },
    HostConfig: { StorageOpt: { size: '20G' } },
  });
});

test('real GPUs are requested by UUID, simulated ones not at all', () => {
  expect(JSON.stringify(containerConfig(SPEC, PLACE))).not.toContain('DeviceRequests');
  expect(containerConfig(SPEC, { ...PLACE, devices: ['GPU-1', 'GPU-2'] })).toMatchObject({
    Labels: { 'podyard.gpu.devices': 'GPU-1,GPU-2' },
    HostConfig: { DeviceRequests: [{ DeviceIDs: ['GPU-1', 'GPU-2'], Capabilities: [['gpu']] }] },
  });
  expect(gpuOf({ 'podyard.gpu': 'ADA_24:2' })).toEqual({ pool: 'ADA_24', count: 2 });
  expect(gpuOf({})).toBeNull();
});

test('the GPUs nvidia-smi lists are assigned to pools', () => {
  const text = 'GPU-3b1c, NVIDIA H200\nGPU-77aa, NVIDIA GeForce RTX 4090\r\nGPU-9, Unheard Of\n';
  expect(parseNvidiaSmi(text).map(({ uuid, pool }) => [uuid, pool])).toEqual([
    ['GPU-3b1c', 'HOPPER_141'],
    ['GPU-77aa', 'ADA_24'],
    ['GPU-9', 'Unheard Of'],
  ]);
  expect(parseNvidiaSmi('NVIDIA-SMI has failed because it could not talk to the driver.')).toEqual([]);
});

test('GPU usage is read from nvidia-smi for the given GPUs, zeros where it has no figure', () => {
  const text = 'GPU-1, 37, 4096, 16384\nGPU-2, [N/A], 100, 0\n';
  expect(parseGpuUsage(text, ['GPU-2', 'GPU-1', 'GPU-9'])).toEqual([
    { util: 0, memoryUtil: 0 },
    { util: 37, memoryUtil: 25 },
    { util: 0, memoryUtil: 0 },
  ]);
});
