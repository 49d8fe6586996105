import { UsageError } from '../core/usage-error.ts';
import { parseMemory } from './parse-setting.ts';

/** What a workload gets for each of its GPUs. `auto`: its share of the machine by GPU; null: no limit. */
export interface PerGpuSettings {
  memory: 'auto' | { bytes: number } | { share: number } | null;
  cpus: 'auto' | number | null;
}

/** The engine takes no less than 6 MB, and no program that uses a GPU runs in that. */
const MIN_MEMORY_BYTES = 64 * 2 ** 20;
const MAX_CPUS = 1_024;

/** `auto`, `off`, a size such as `64GiB`, or a share of the machine such as `25%`. */
export function parseMemoryPerGpu(name: string, value: string | undefined): PerGpuSettings['memory'] {
  if (value === undefined || value === '' || value === 'auto') return 'auto';
  if (value === 'off') return null;
  const memory = parseMemory(name, value);
  const isTooSmall = 'bytes' in memory ? memory.bytes < MIN_MEMORY_BYTES : memory.share === 0;
  if (isTooSmall) throw new UsageError(`${name} is '${value}', but must be at least 64MiB, auto, or off for no limit`);
  return memory;
}

/** `auto`, `off`, or a number of CPUs such as `8` or `0.5`. */
export function parseCpusPerGpu(name: string, value: string | undefined): PerGpuSettings['cpus'] {
  if (value === undefined || value === '' || value === 'auto') return 'auto';
  if (value === 'off') return null;
  const cpus = /^\d{1,4}(\.\d{1,3})?$/.test(value) ? Number(value) : 0;
  if (cpus >= 0.01 && cpus <= MAX_CPUS) return cpus;
  throw new UsageError(`${name} is '${value}', but must be a number of CPUs from 0.01 to ${MAX_CPUS}, auto, or off`);
}
