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
    startSsh: false,
    startJupyter: false,
    mounts: {},
    gpu: { id: 'NVIDIA L4', count: 2 },
  });
});

test('SSH and Jupyter bring their ports; a port 22 brings SSH', () => {
  const of = (ssh: boolean, jupyter: boolean, ...ports: string[]) => {
    const body = podBody({ ...NEW_POD, startSsh: ssh, startJupyter: jupyter, ports });
    return [body.startSsh, body.startJupyter, body.ports];
  };
  expect(of(true, true, '80/http')).toEqual([true, true, ['80/http', '22/tcp', '8888/http']]);
  expect(of(true, false, '22/tcp')).toEqual([true, false, ['22/tcp']]);
  expect(of(false, false, '22/tcp')).toEqual([true, false, ['22/tcp']]);
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
