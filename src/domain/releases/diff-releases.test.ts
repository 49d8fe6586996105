import { expect, test } from 'vitest';
import type { ReleaseSpec } from '../endpoints/endpoint.ts';
import { diffReleases } from './diff-releases.ts';

const SPEC: ReleaseSpec = {
  image: 'a',
  args: '',
  diskGb: 20,
  ports: ['80/http'],
  env: { A: 'secret-a', B: 'secret-b' },
  registryId: null,
  gpu: { pools: ['ADA_24'], count: 1 },
  cpu: null,
  networkVolumeIds: [],
  models: [],
};

const diff = (change: Partial<ReleaseSpec>) => diffReleases(SPEC, { ...SPEC, ...change });

test('equal values are no change, in any order of the environment', () => {
  expect(diff({ env: { B: 'secret-b', A: 'secret-a' }, gpu: { count: 1, pools: ['ADA_24'] } })).toEqual([]);
});

test('every field of a release is compared, by its name on the wire', () => {
  const changes = diff({
    image: 'b',
    args: 'x',
    diskGb: 1,
    ports: [],
    env: {},
    registryId: 'r',
    gpu: { pools: ['AMPERE_16'], count: 2, excludedTypes: ['x'], allowedCudaVersions: ['12.4'], minCudaVersion: '12' },
    cpu: [{ id: 'cpu3c', vcpuCount: 2, memory: 4 }],
    networkVolumeIds: ['v'],
  });
  expect(changes.map((change) => change.field)).toEqual([
    'image',
    'args',
    'disk',
    'ports',
    'env',
    'registry',
    'gpu.pools',
    'gpu.count',
    'gpu.excludedTypes',
    'gpu.allowedCudaVersions',
    'gpu.minCudaVersion',
    'cpu',
    'networkVolumes',
  ]);
});

test('what is absent is null', () => {
  expect(diff({ gpu: null })).toEqual([
    { field: 'gpu.pools', old: ['ADA_24'], new: null },
    { field: 'gpu.count', old: 1, new: null },
  ]);
  expect(diff({ registryId: 'r' })).toEqual([{ field: 'registry', old: null, new: 'r' }]);
});

test('the order of pools and ports is a change: it is the order of preference', () => {
  expect(diffReleases({ ...SPEC, ports: ['1/tcp', '2/tcp'] }, { ...SPEC, ports: ['2/tcp', '1/tcp'] })).toHaveLength(1);
});

test('of the environment only changed names are shown, never a value', () => {
  const changes = diff({ env: { A: 'other', C: 'new', toString: 'x' } as Record<string, string> });
  expect(changes).toEqual([
    { field: 'env', old: { A: '***', B: '***' }, new: { A: '***', C: '***', toString: '***' } },
  ]);
});
