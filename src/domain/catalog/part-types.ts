/**
 * GPU types that are parts of others: MIG slices, and GPUs that several workloads share. They are found on machines rather
 * than listed, and their ids are made from the whole GPU's, as GPU feature discovery does: `NVIDIA A100-SXM4-80GB MIG 1g.10gb`.
 */
import { findGpuType } from './catalog.ts';

/** A GPU type and its pool, as endpoints name it. */
export interface TypeInPool {
  gpuTypeId: string;
  pool: string;
}

export type Part =
  | { baseId: string; kind: 'MIG'; profile: string }
  | { baseId: string; kind: 'SHARED'; shares: number };

/** Returns the pool of a GPU type as `nvidia-smi` names it. A type without one is a pool of its own. */
export function poolOf(gpuTypeId: string): string {
  return findGpuType(gpuTypeId)?.pool ?? gpuTypeId;
}

/** `profile` as `nvidia-smi -L` names it: `1g.10gb`, `1g.10gb+me`. */
export function migTypeOf(baseId: string, profile: string): TypeInPool {
  return { gpuTypeId: `${baseId} MIG ${profile}`, pool: `${poolId(baseId)}_MIG_${slug(profile)}` };
}

/** `shares`: how many workloads get the same GPU; 0 where only the cluster knows. */
export function sharedTypeOf(baseId: string, shares: number): TypeInPool {
  const suffix = shares === 0 ? '' : `-${shares}`;
  return { gpuTypeId: `${baseId} SHARED${suffix}`, pool: `${poolId(baseId)}_SHARED${suffix.replace('-', '_')}` };
}

/** Returns what a type is a part of; null for a whole GPU. */
export function partOf(gpuTypeId: string): Part | null {
  const mig = /^(.+) MIG (\S+)$/.exec(gpuTypeId);
  if (mig) return { baseId: mig[1]!, kind: 'MIG', profile: mig[2]! };
  const shared = /^(.+) SHARED(?:-(\d+))?$/.exec(gpuTypeId);
  return shared && { baseId: shared[1]!, kind: 'SHARED', shares: Number(shared[2] ?? 0) };
}

/** GB of a slice by its profile; 0 if it does not say. */
export function migMemoryGb(profile: string): number {
  return Number(/\.(\d+)gb/.exec(profile)?.[1] ?? 0);
}

function poolId(baseId: string): string {
  return slug(poolOf(baseId));
}

function slug(text: string): string {
  return text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^_|_$/g, '');
}
