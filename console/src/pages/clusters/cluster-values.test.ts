import { expect, test } from 'vitest';
import { clusterBody, describeCompute, describePods, NEW_CLUSTER } from './cluster-values.ts';

test('a new cluster has its compute, the defaults of a container, and no registry', () => {
  const gpu = { id: 'NVIDIA L4', count: 2 };
  expect(clusterBody({ ...NEW_CLUSTER, name: 'ring', image: 'acme/box:1', gpu, podCount: 3 })).toEqual({
    name: 'ring',
    type: 'APPLICATION',
    compute: { gpuTypeId: 'NVIDIA L4', gpuCountPerPod: 2, podCount: 3 },
    image: 'acme/box:1',
    args: '',
    disk: 20,
    ports: [],
    env: {},
    mounts: {},
    startSsh: false,
    startJupyter: false,
  });
});

test('SSH and Jupyter add their ports once', () => {
  const start = { startSsh: true, startJupyter: true };
  const body = clusterBody({ ...NEW_CLUSTER, ports: ['22/tcp', '80/http'], ...start });
  expect(body).toMatchObject({ ports: ['22/tcp', '80/http', '8888/http'], startSsh: true, startJupyter: true });
});

test('pods and compute are described in words', () => {
  expect(describePods({ total: 4, byStatus: { RUNNING: 3, STARTING: 1 } })).toBe('3 running, 1 starting');
  const compute = { gpuTypeId: 'NVIDIA L4', gpuCountPerPod: 2, podCount: 3 };
  expect(describeCompute(compute)).toBe('3 pods × 2 × NVIDIA L4');
});
