import { Failure } from '../../core/errors.ts';
import { didYouMean } from '../../core/text/closest.ts';
import { CUDA_VERSION } from '../../scaling/cuda-version.ts';
import { gpuTypesOfPool } from '../catalog/catalog.ts';
import { TYPE_EDITS } from '../catalog/no-such-item.ts';
import type { GpuConfig, GpuRule } from './endpoint.ts';

/** A change of `gpu`: absent members stay; an empty list, `''` and null clear. */
export interface GpuChange {
  pools?: string[];
  count?: number;
  excludedTypes?: readonly string[];
  allowedCudaVersions?: readonly string[];
  minCudaVersion?: string | null;
}

/** Returns the rule alone. */
export function gpuRuleOf(gpu: GpuRule | null): GpuRule {
  const { excludedTypes, allowedCudaVersions, minCudaVersion } = gpu ?? {};
  return {
    ...(excludedTypes?.length && { excludedTypes }),
    ...(allowedCudaVersions?.length && { allowedCudaVersions }),
    ...(minCudaVersion && { minCudaVersion }),
  };
}

/** Merges a change. Other pools clear the excluded types, unless the change has its own: they were chosen among the former. */
export function mergeGpu(before: GpuConfig, change: GpuChange): GpuConfig {
  const pools = change.pools ?? before.pools;
  const isSame = pools.length === before.pools.length && pools.every((pool) => before.pools.includes(pool));
  const { excludedTypes, ...kept } = gpuRuleOf(before);
  const rule = { ...kept, ...(isSame && { excludedTypes }), ...withoutUndefined(change) };
  return { pools: [...pools], count: change.count ?? before.count, ...gpuRuleOf(rule as GpuRule) };
}

/** Throws `badRequest` for a type that is in none of the pools, if no type is left, and for an invalid CUDA version. */
export function checkGpuRule(gpu: GpuConfig, field = 'gpu.excludedTypes'): void {
  const { pools, excludedTypes = [] } = gpu;
  const types = pools.flatMap((pool) => gpuTypesOfPool(pool).map(({ id }) => id));
  const other = excludedTypes.find((type) => !types.includes(type));
  if (other !== undefined) {
    throw new Failure(
      'badRequest',
      `${field}: '${other}': it is in none of the pools ${pools.join(', ')}${didYouMean(other, types, TYPE_EDITS)}`,
    );
  }
  if (types.length > 0 && types.every((type) => excludedTypes.includes(type))) {
    throw new Failure('badRequest', `${field}: no type of the pools ${pools.join(', ')} is left`);
  }
  checkCudaVersions(gpu);
}

/** Each GPU of the stock is compared with all of them. */
export const MAX_CUDA_VERSIONS = 50;

/** Throws `badRequest` for an invalid CUDA version, which no GPU would ever fit, and for too many. */
export function checkCudaVersions({ allowedCudaVersions = [], minCudaVersion }: GpuRule): void {
  if (allowedCudaVersions.length > MAX_CUDA_VERSIONS) {
    throw new Failure('badRequest', `allowedCudaVersions: must not list more than ${MAX_CUDA_VERSIONS} versions`);
  }
  const versions = { allowedCudaVersions, minCudaVersion: minCudaVersion === undefined ? [] : [minCudaVersion] };
  for (const [name, list] of Object.entries(versions)) {
    const wrong = list.find((version) => !CUDA_VERSION.test(version));
    if (wrong !== undefined) throw new Failure('badRequest', `${name}: '${wrong}' is not a version like 12.8`);
  }
}

function withoutUndefined(change: GpuChange): GpuChange {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}
