import { expect, test } from 'vitest';
import { migMemoryGb, migTypeOf, partOf, poolOf, sharedTypeOf } from './part-types.ts';

test('a slice and a share have types and pools made from the whole GPU’s, and say what they are a part of', () => {
  const slice = migTypeOf('NVIDIA A100-SXM4-80GB', '1g.10gb+me');
  expect(slice).toEqual({ gpuTypeId: 'NVIDIA A100-SXM4-80GB MIG 1g.10gb+me', pool: 'AMPERE_80_MIG_1G_10GB_ME' });
  expect(partOf(slice.gpuTypeId)).toEqual({ baseId: 'NVIDIA A100-SXM4-80GB', kind: 'MIG', profile: '1g.10gb+me' });
  const share = sharedTypeOf('NVIDIA L4', 4);
  expect(share).toEqual({ gpuTypeId: 'NVIDIA L4 SHARED-4', pool: 'AMPERE_24_SHARED_4' });
  expect(partOf(share.gpuTypeId)).toEqual({ baseId: 'NVIDIA L4', kind: 'SHARED', shares: 4 });
  expect(sharedTypeOf('NVIDIA L4', 0)).toEqual({ gpuTypeId: 'NVIDIA L4 SHARED', pool: 'AMPERE_24_SHARED' });
  expect(partOf('NVIDIA L4')).toBeNull();
});

test('a type without a pool is one of its own', () => {
  expect(poolOf('NVIDIA A30')).toBe('NVIDIA A30');
  expect(migTypeOf('NVIDIA A30', '1g.6gb').pool).toBe('NVIDIA_A30_MIG_1G_6GB');
  expect([migMemoryGb('1g.6gb'), migMemoryGb('1c.3g.40gb'), migMemoryGb('?')]).toEqual([6, 40, 0]);
});
