import { afterEach, expect, test } from 'vitest';
import { findGpuType, gpuPools, gpuTypes, OWN_CATALOG, useCatalog } from './catalog.ts';
import { nameFoundTypes } from './found-types.ts';
import { migTypeOf, sharedTypeOf } from './part-types.ts';

afterEach(() => useCatalog(OWN_CATALOG));

const H100 = 'NVIDIA H100 80GB HBM3';

test('a slice is in the catalog with its memory, its share of the price and its pool', () => {
  const slice = migTypeOf(H100, '1g.10gb');
  nameFoundTypes([slice]);
  const whole = findGpuType(H100)!;
  expect(findGpuType(slice.gpuTypeId)).toEqual({
    id: 'NVIDIA H100 80GB HBM3 MIG 1g.10gb',
    name: `${whole.name} MIG 1g.10gb`,
    pool: 'ADA_80_PRO_MIG_1G_10GB',
    manufacturer: 'NVIDIA',
    memory: 10,
    secure: true,
    community: false,
    price: { secure: Number((whole.price.secure! / 8).toFixed(4)), community: null },
    maxCount: { secure: 1, community: 0 },
  });
  expect(gpuPools()).toContain('ADA_80_PRO_MIG_1G_10GB');
});

test('a shared GPU says that it is shared and not isolated', () => {
  const share = sharedTypeOf(H100, 4);
  nameFoundTypes([share]);
  expect(findGpuType(share.gpuTypeId)!.name).toMatch(/, shared by 4, not isolated$/);
  expect(gpuPools()).toContain(share.pool);
});

test('a type without a pool, or without an entry, is in a pool of its own that endpoints can name', () => {
  nameFoundTypes([
    { gpuTypeId: 'NVIDIA A30', pool: 'NVIDIA A30' },
    { gpuTypeId: 'NVIDIA X9', pool: 'NVIDIA X9', memoryGb: 12 },
    { gpuTypeId: 'AMD Radeon RX 7900 XT', pool: 'AMD Radeon RX 7900 XT', memoryGb: 20 },
  ]);
  expect(gpuTypes().filter(({ id }) => id === 'NVIDIA A30')).toMatchObject([{ pool: 'NVIDIA A30', memory: 24 }]);
  expect(findGpuType('NVIDIA X9')).toMatchObject({ name: 'X9', memory: 12, manufacturer: 'NVIDIA' });
  expect(findGpuType('AMD Radeon RX 7900 XT')).toMatchObject({ manufacturer: 'AMD', memory: 20 });
  expect(gpuPools()).toEqual(expect.arrayContaining(['NVIDIA A30', 'NVIDIA X9', 'AMD Radeon RX 7900 XT']));
});

test('what the catalog has stays as it is, also when it is found again', () => {
  const before = gpuTypes();
  nameFoundTypes([{ gpuTypeId: H100, pool: 'ADA_80_PRO' }]);
  expect(gpuTypes()).toEqual(before);
  for (let i = 0; i < 2; i++) nameFoundTypes([migTypeOf(H100, '1g.10gb')]);
  expect(gpuTypes()).toHaveLength(before.length + 1);
});
