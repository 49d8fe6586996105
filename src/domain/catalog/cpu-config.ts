import { Failure } from '../../core/errors.ts';
import type { CpuConfig } from '../../scaling/cpu-slots.ts';
import { findCpuFlavor } from './catalog.ts';
import { noSuchItem } from './no-such-item.ts';

/** vCPUs of a flavor, as clients request them. */
export interface CpuRequest {
  id: string;
  vcpuCount: number;
}

export type { CpuConfig };

/** Adds the flavor's memory. Throws `badRequest`, naming the place in the body, if the catalog does not have it. */
export function withMemory({ id, vcpuCount }: CpuRequest, place = 'cpu'): CpuConfig {
  const flavor = findCpuFlavor(id);
  if (!flavor) throw new Failure('badRequest', `${place}.id: ${noSuchItem('CPU flavor', id)}`);
  const { min, max } = flavor.vcpu;
  if (!Number.isInteger(Math.log2(vcpuCount)) || vcpuCount < min || vcpuCount > max) {
    throw new Failure('badRequest', `${place}.vcpuCount: must be a power of two from ${min} to ${max} for ${id}`);
  }
  return { id, vcpuCount, memory: flavor.ramGbPerVcpu * vcpuCount };
}

/** Writes vCPUs of a flavor as clients name them: `cpu3c-2-4` has 2 vCPUs and 4 GB. */
export function formatInstanceId({ id, vcpuCount, memory }: CpuConfig): string {
  return `${id}-${vcpuCount}-${memory}`;
}

/** Parses it; undefined for anything else. The memory follows from the flavor, so it is not returned. */
export function parseInstanceId(text: string): CpuRequest | undefined {
  const [, id, vcpus] = /^([a-z0-9]+)-(\d{1,4})-\d{1,5}$/.exec(text) ?? [];
  return id === undefined ? undefined : { id, vcpuCount: Number(vcpus) };
}
