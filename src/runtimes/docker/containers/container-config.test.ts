import { expect, test } from 'vitest';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import type { Gpu } from '../../gpus/gpu.ts';
import { containerConfig, gpuOf, portsOf } from './container-config.ts';

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
  holder: null,
  gpus: [],
  gpuSupport: { hasNvidia: false, hasNvidiaRuntime: false, cdiDevices: [], cdiKind: 'nvidia.com/gpu' },
  publishIp: '127.0.0.1',
  canLimitDisk: false,
};

const gpu = (uuid: string, change: Partial<Gpu> = {}): Gpu => ({
  uuid,
  busId: '0000:01:00.0',
  gpuTypeId: 'NVIDIA GeForce RTX 4090',
  pool: 'ADA_24',
  vendor: 'NVIDIA',
  memoryMib: 24_564,
  cudaVersion: null,
  shares: 1,
  devicePaths: [],
  ...change,
});

test('a container gets limits, labels and a bind mount, and no unneeded privileges', () => {
  expect(containerConfig(SPEC, PLACE)).toMatchObject({
    Image: 'a:v1',
    Env: ['A=1', 'B=x=y'],
    Labels: { 'podyard.installation': 'i', 'podyard.id': 'w1', 'podyard.kind': 'worker', 'podyard.gpu': 'ADA_24:2' },
    HostConfig: {
      Memory: 2 ** 30,
      MemorySwap: 2 ** 30,
      NanoCpus: 1_500_000_000,
      PidsLimit: 2048,
      OomScoreAdj: 500,
      SecurityOpt: ['no-new-privileges'],
      CapDrop: ['MKNOD', 'NET_RAW', 'SETPCAP'],
      Mounts: [{ Type: 'bind', Source: '/data/a:b', Target: '/workspace' }],
    },
  });
});

test.each([
  [null, 4096],
  [0.25, 2048],
  [2, 2048],
  [2.5, 3072],
  [16, 4096],
])('a container with %s CPUs has at most %i processes and threads', (cpus, limit) => {
  expect(containerConfig({ ...SPEC, cpus }, PLACE)).toMatchObject({ HostConfig: { PidsLimit: limit } });
});

test('the image keeps its own command unless args say otherwise', () => {
  expect(containerConfig(SPEC, PLACE)).not.toHaveProperty('Cmd');
  expect(containerConfig({ ...SPEC, args: 'a "b c"' }, PLACE)).toMatchObject({ Cmd: ['a', 'b c'] });
  expect(containerConfig({ ...SPEC, args: '{"entrypoint":["x"],"cmd":[]}' }, PLACE)).toMatchObject({
    Entrypoint: ['x'],
    Cmd: [],
  });
});

test('TCP ports are published on the configured address, HTTP ports nowhere', () => {
  const ports = ['8000/http', '22/tcp', '22/http'];
  const pod = containerConfig({ ...SPEC, kind: 'pod', ports }, { ...PLACE, publishIp: '10.0.0.1' });
  expect(pod).toMatchObject({
    ExposedPorts: { '22/tcp': {} },
    HostConfig: { PortBindings: { '22/tcp': [{ HostIp: '10.0.0.1', HostPort: '' }] } },
  });
  expect(JSON.stringify(pod)).not.toContain('8000/tcp');
  const worker = containerConfig({ ...SPEC, ports, publicPorts: { 22: 30_022 } }, PLACE) as typeof pod & {
    ExposedPorts: object;
    HostConfig: { PortBindings: object };
  };
  expect(worker.ExposedPorts).toEqual({ '22/tcp': {} });
  expect(worker.HostConfig.PortBindings).toEqual({ '22/tcp': [{ HostIp: PLACE.publishIp, HostPort: '30022' }] });
  const { Labels } = pod as { Labels: Record<string, string> };
  expect(portsOf(Labels, (port) => (port === 22 ? { ip: '10.0.0.1', public: 49_153 } : undefined))).toEqual([
    { private: 8000, type: 'http', public: null, ip: null },
    { private: 22, type: 'tcp', public: 49_153, ip: '10.0.0.1' },
    { private: 22, type: 'http', public: null, ip: null },
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
  expect(containerConfig(SPEC, { ...PLACE, gpus: [gpu('GPU-1'), gpu('MIG-2')] })).toMatchObject({
    Labels: { 'podyard.gpu.devices': 'GPU-1,MIG-2' },
    HostConfig: { DeviceRequests: [{ DeviceIDs: ['GPU-1', 'MIG-2'], Capabilities: [['gpu']] }] },
  });
  expect(gpuOf({ 'podyard.gpu': 'ADA_24:2' })).toEqual({ pool: 'ADA_24', count: 2 });
  expect(gpuOf({})).toBeNull();
});

const CDI = { hasNvidia: true, hasNvidiaRuntime: false, cdiKind: 'nvidia.com/gpu' };

test('an engine with CDI devices and no NVIDIA runtime gets their names', () => {
  const gpuSupport = { ...CDI, cdiDevices: ['nvidia.com/gpu=0', 'nvidia.com/gpu=GPU-1'] };
  expect(containerConfig(SPEC, { ...PLACE, gpus: [gpu('GPU-1')], gpuSupport })).toMatchObject({
    HostConfig: { DeviceRequests: [{ Driver: 'cdi', DeviceIDs: ['nvidia.com/gpu=GPU-1'] }] },
  });
});

test('a CDI specification without UUIDs is refused with the command that makes one', () => {
  const gpuSupport = { ...CDI, cdiDevices: ['nvidia.com/gpu=0', 'nvidia.com/gpu=all'] };
  expect(() => containerConfig(SPEC, { ...PLACE, gpus: [gpu('GPU-1')], gpuSupport })).toThrow(
    /no CDI device nvidia\.com\/gpu=GPU-1\. Run: sudo nvidia-ctk cdi generate --device-name-strategy=uuid/,
  );
});

test('no image and no user can take GPUs by the variable of the NVIDIA runtime', () => {
  const gpuSupport = { hasNvidia: true, hasNvidiaRuntime: true, cdiDevices: [], cdiKind: 'nvidia.com/gpu' };
  const greedy = { ...SPEC, gpu: null, env: { NVIDIA_VISIBLE_DEVICES: 'all' } };
  expect(containerConfig(greedy, { ...PLACE, gpuSupport })).toMatchObject({ Env: ['NVIDIA_VISIBLE_DEVICES=void'] });
  expect(containerConfig(greedy, { ...PLACE, gpuSupport, gpus: [gpu('GPU-1')] })).toMatchObject({
    Env: ['NVIDIA_VISIBLE_DEVICES=GPU-1'],
  });
});

test('an AMD GPU is given by its device files', () => {
  const amd = gpu('GPU-dc91284879207f2b', { vendor: 'AMD', devicePaths: ['/dev/dri/renderD128'] });
  const { HostConfig } = containerConfig(SPEC, { ...PLACE, gpus: [amd] }) as { HostConfig: Record<string, unknown> };
  const file = (path: string) => ({ PathOnHost: path, PathInContainer: path, CgroupPermissions: 'rw' });
  expect(HostConfig.Devices).toEqual([file('/dev/kfd'), file('/dev/dri/renderD128')]);
  expect(HostConfig).not.toHaveProperty('DeviceRequests');
});

test('a container that joins a prepared network has no name, address or ports of its own', () => {
  const holder = { id: 'n1', name: 'podyard-i-n1' };
  const config = containerConfig({ ...SPEC, ports: ['8000/http'] }, { ...PLACE, address: '10.0.0.2', holder });
  expect(config).toMatchObject({
    Labels: { 'podyard.network.holder': 'n1' },
    ExposedPorts: {},
    HostConfig: { NetworkMode: 'container:podyard-i-n1', PortBindings: {} },
  });
  expect(config).not.toHaveProperty('Hostname');
  expect(config).not.toHaveProperty('NetworkingConfig');
});
