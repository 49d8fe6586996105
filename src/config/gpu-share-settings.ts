import { UsageError } from '../core/usage-error.ts';
import { parseMemory } from './parse-setting.ts';
import { setting, type ValuesOf } from './setting.ts';

/** The engine takes no less than 6 MB, and no program that uses a GPU runs in that. */
const MIN_MEMORY_BYTES = 64 * 2 ** 20;
const MAX_CPUS = 1_024;

/** A workload's share for each of its GPUs. `auto`: its share of the machine by GPU; null: no limit. */
export const PER_GPU = {
  memory: setting({
    variable: 'PODYARD_MEMORY_PER_GPU',
    flag: 'memoryPerGpu',
    takes: '<size>',
    default: 'auto',
    parse: parseMemoryPerGpu,
    page: 'Memory limit per GPU: `64GiB`, `25%` or off: see [limits](guide/security.md#limits)',
    help: 'memory limit per GPU: auto, 64GiB, 25% or off',
    chart: { value: 'workloads.memoryPerGpu', as: 'text' },
  }),
  cpus: setting({
    variable: 'PODYARD_CPUS_PER_GPU',
    flag: 'cpusPerGpu',
    takes: '<number>',
    default: 'auto',
    parse: parseCpusPerGpu,
    page: 'CPU limit of workers and pods per GPU: `8` or off',
    help: 'CPU limit per GPU: auto, 8 or off',
    chart: { value: 'workloads.cpusPerGpu', as: 'text' },
  }),
};

export type PerGpuSettings = ValuesOf<typeof PER_GPU>;

/** `auto`, `off`, a size such as `64GiB`, or a share of the machine such as `25%`. */
function parseMemoryPerGpu(name: string, value: string): 'auto' | { bytes: number } | { share: number } | null {
  if (value === '' || value === 'auto') return 'auto';
  if (value === 'off') return null;
  const memory = parseMemory(name, value);
  const isTooSmall = 'bytes' in memory ? memory.bytes < MIN_MEMORY_BYTES : memory.share === 0;
  if (isTooSmall) throw new UsageError(`${name} is '${value}', but must be at least 64MiB, auto, or off for no limit`);
  return memory;
}

/** `auto`, `off`, or a number of CPUs such as `8` or `0.5`. */
function parseCpusPerGpu(name: string, value: string): 'auto' | number | null {
  if (value === '' || value === 'auto') return 'auto';
  if (value === 'off') return null;
  const cpus = /^\d{1,4}(\.\d{1,3})?$/.test(value) ? Number(value) : 0;
  if (cpus >= 0.01 && cpus <= MAX_CPUS) return cpus;
  throw new UsageError(`${name} is '${value}', but must be a number of CPUs from 0.01 to ${MAX_CPUS}, auto, or off`);
}
