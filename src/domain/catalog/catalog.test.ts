import { expect, test } from 'vitest';
import {
  cpuFlavors,
  dataCenters,
  findDataCenter,
  findGpuType,
  gpuPools,
  gpuTypes,
  gpuTypesOfPool,
  LOCAL_DATA_CENTER,
} from './catalog.ts';

test('the pools are those of the public interface, each with at least one GPU type', () => {
  expect(gpuPools().toSorted()).toEqual(
    (
      'ADA_24 ADA_32_PRO ADA_48_PRO ADA_80_PRO AMPERE_16 AMPERE_24 AMPERE_48 AMPERE_80 ' +
      'BLACKWELL_180 BLACKWELL_96 HOPPER_141'
    ).split(' '),
  );
  for (const pool of gpuPools()) expect([pool, gpuTypesOfPool(pool).length > 0]).toEqual([pool, true]);
  expect(gpuTypesOfPool('NOPE')).toEqual([]);
});

test('every GPU type is in a known pool or in none, and its offers are consistent', () => {
  for (const gpu of gpuTypes()) {
    expect(gpu.pool === null || gpuPools().includes(gpu.pool)).toBe(true);
    expect([gpu.id, gpu.secure]).toEqual([gpu.id, gpu.price.secure !== null]);
    expect([gpu.id, gpu.community]).toEqual([gpu.id, gpu.maxCount.community > 0]);
  }
});

test('ids are unique', () => {
  for (const list of [gpuTypes(), cpuFlavors(), dataCenters()]) {
    expect(new Set(list.map((entry) => entry.id)).size).toBe(list.length);
  }
});

test('the CPU flavors are those of the public interface', () => {
  expect(cpuFlavors().map((flavor) => flavor.id)).toEqual(['cpu3c', 'cpu3g', 'cpu3m', 'cpu5c', 'cpu5g', 'cpu5m']);
});

test('this machine is a data center', () => {
  expect(findDataCenter(LOCAL_DATA_CENTER)).toBeDefined();
  expect(findGpuType('NVIDIA GeForce RTX 4090')?.pool).toBe('ADA_24');
});
