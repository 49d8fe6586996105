import { Failure } from '../../core/errors.ts';
import { type CpuConfig, type CpuRequest, withMemory } from '../catalog/cpu-config.ts';

/**
 * Returns what the workers of a CPU endpoint may get, with the memory of each. Throws `badRequest` for an empty list, for one
 * that is listed twice, and for what the catalog does not have.
 */
export function cpuSelection(wanted: readonly CpuRequest[]): CpuConfig[] {
  if (wanted.length === 0) throw new Failure('badRequest', 'cpu: at least one flavor is required');
  const seen = new Set<string>();
  return wanted.map((one, i) => {
    const config = withMemory(one, `cpu[${i}]`);
    const name = `${config.id} with ${config.vcpuCount} vCPUs`;
    if (seen.has(name)) throw new Failure('badRequest', `cpu: ${name} is listed more than once`);
    seen.add(name);
    return config;
  });
}
