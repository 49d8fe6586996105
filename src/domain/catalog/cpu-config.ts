import { Failure } from '../../core/errors.ts';
import { findCpuFlavor } from './catalog.ts';
import { noSuchItem } from './no-such-item.ts';

/** vCPUs of a flavor, as clients request them. */
export interface CpuRequest {
  id: string;
  vcpuCount: number;
}

/** The same with the memory that goes with it, in GB. */
export interface CpuConfig extends CpuRequest {
  memory: number;
}

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
