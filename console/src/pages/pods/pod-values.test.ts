import { expect, test } from 'vitest';
import { NEW_POD, podBody } from './pod-values.ts';

test('a new pod has a GPU, no storage, and the defaults of a container', () => {
  expect(podBody({ ...NEW_POD, name: 'box', image: 'acme/box:1', gpu: { id: 'NVIDIA L4', count: 2 } })).toEqual({
    name: 'box',
    image: 'acme/box:1',
    args: '',
    disk: 20,
    ports: [],
    env: {},
    registry: null,
    mounts: {},
    gpu: { id: 'NVIDIA L4', count: 2 },
  });
});

test('a CPU pod requests no GPU, even if one was chosen before', () => {
  const body = podBody({
    ...NEW_POD,
    hardware: 'cpu',
    gpu: { id: 'NVIDIA L4', count: 1 },
    cpu: { id: 'c', vcpuCount: 4 },
  });
  expect(body).toMatchObject({ cpu: { id: 'c', vcpuCount: 4 } });
  expect(body).not.toHaveProperty('gpu');
});

test('only the chosen storage is mounted', () => {
  const mount = { sizeGb: 50, volumeId: 'v1', path: '/data' };
  const mountsOf = (kind: 'none' | 'persistent' | 'network') =>
    podBody({ ...NEW_POD, mount: { ...mount, kind } }).mounts;
  expect(mountsOf('none')).toEqual({});
  expect(mountsOf('persistent')).toEqual({ persistent: { size: 50, path: '/data' } });
  expect(mountsOf('network')).toEqual({ network: [{ volumeId: 'v1', path: '/data' }] });
});
