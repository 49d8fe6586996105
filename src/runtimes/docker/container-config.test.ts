import { expect, test } from 'vitest';
import { containerConfig, gpuOf } from './container-config.ts';
import { parseNvidiaSmi } from './nvidia-gpus.ts';

const SPEC = {
  id: 'w1',
  kind: 'worker',
  image: 'a:v1',
  args: '',
  env: { A: '1', B: 'x=y' },
  diskGb: 20,
  ports: [],
  gpu: { pool: 'ADA_24', count: 2 },
  memoryBytes: 2 ** 30,
  cpus: 1.5,
  mounts: [{ source: '/data/a:b', target: '/workspace' }],
} as const;
const PLACE = { installation: 'i', network: 'podyard', devices: [] };

test('a container gets limits, labels and a bind mount, and no more rights than it needs', () => {
  expect(containerConfig(SPEC, PLACE)).toMatchObject({
    Image: 'a:v1',
    Env: ['A=1', 'B=x=y'],
    Labels: { 'podyard.installation': 'i', 'podyard.id': 'w1', 'podyard.kind': 'worker', 'podyard.gpu': 'ADA_24:2' },
    HostConfig: {
      Memory: 2 ** 30,
      MemorySwap: 2 ** 30,
      NanoCpus: 1_500_000_000,
      PidsLimit: 4096,
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

test('real GPUs are asked for by their UUIDs, simulated ones not at all', () => {
  expect(JSON.stringify(containerConfig(SPEC, PLACE))).not.toContain('DeviceRequests');
  expect(containerConfig(SPEC, { ...PLACE, devices: ['GPU-1', 'GPU-2'] })).toMatchObject({
    Labels: { 'podyard.gpu.devices': 'GPU-1,GPU-2' },
    HostConfig: { DeviceRequests: [{ DeviceIDs: ['GPU-1', 'GPU-2'], Capabilities: [['gpu']] }] },
  });
  expect(gpuOf({ 'podyard.gpu': 'ADA_24:2' })).toEqual({ pool: 'ADA_24', count: 2 });
  expect(gpuOf({})).toBeNull();
});

test('what nvidia-smi lists is sorted into pools', () => {
  const text = 'GPU-3b1c, NVIDIA H200\nGPU-77aa, NVIDIA GeForce RTX 4090\r\nGPU-9, Unheard Of\n';
  expect(parseNvidiaSmi(text).map(({ uuid, pool }) => [uuid, pool])).toEqual([
    ['GPU-3b1c', 'HOPPER_141'],
    ['GPU-77aa', 'ADA_24'],
    ['GPU-9', 'Unheard Of'],
  ]);
  expect(parseNvidiaSmi('NVIDIA-SMI has failed because it could not talk to the driver.')).toEqual([]);
});
