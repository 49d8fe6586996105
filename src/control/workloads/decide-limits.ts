import type { PerGpuSettings } from '../../core/gpu-share-settings.ts';
import type { Capacity } from '../../runtimes/runtime.ts';

/** What a workload may use; null: no limit. See `WorkloadSpec`. */
export interface WorkloadLimits {
  cpus: number | null;
  memoryBytes: number | null;
  requestShare: number;
}

interface PlacedGpu {
  pool: string;
  count: number;
  dataCenterId: string | null;
}

interface Machine {
  cpus: number;
  memoryBytes: number;
  gpus: number;
}

const MEBIBYTE = 2 ** 20;
/** A tenth of the machine is left to the system, Podyard and its database. */
const USABLE_SHARE = 0.9;
/** Of that, what a cluster sets aside: its nodes also run pods that Podyard may not see. */
const REQUESTED_SHARE = 5 / 6;
/** With simulated GPUs, a machine has far more of them than it could have. */
const MIN_CPUS = 1;
const MIN_MEMORY_BYTES = 1024 * MEBIBYTE;

/** Returns the limits of a workload: those of its CPU flavor, or its share of a machine by GPU. */
export function decideLimits(
  { cpu, gpu }: { cpu: { vcpuCount: number; memory: number } | null; gpu: PlacedGpu | null },
  capacity: Capacity,
  settings: PerGpuSettings,
): WorkloadLimits {
  if (cpu !== null) return { cpus: cpu.vcpuCount, memoryBytes: cpu.memory * 2 ** 30, requestShare: 1 };
  if (gpu === null) return { cpus: null, memoryBytes: null, requestShare: 1 };
  return gpuShare(gpu, capacity, settings);
}

/** What programs are told that they have: the limits, or the machine where there are none. */
export function visibleLimits(
  { cpus, memoryBytes }: WorkloadLimits,
  capacity: Capacity,
): { cpus: number; memoryBytes: number } {
  const machine = capacity.largest ?? capacity;
  return {
    cpus: cpus === null ? machine.cpus : Math.max(1, Math.floor(cpus)),
    memoryBytes: memoryBytes ?? machine.memoryBytes,
  };
}

/**
 * The share, by GPU, of a machine that it may run on, of the smallest where they differ; or what the operator set for each
 * GPU. Never more than a machine has.
 */
function gpuShare(gpu: PlacedGpu, capacity: Capacity, settings: PerGpuSettings): WorkloadLimits {
  const machines = machinesOf(gpu, capacity);
  const least = (amount: (machine: Machine) => number | null) => {
    const amounts = machines.flatMap((machine) => amount(machine) ?? []);
    return amounts.length === 0 ? null : Math.min(...amounts);
  };
  const isAutomatic = settings.cpus === 'auto' && settings.memory === 'auto';
  return {
    cpus: least((machine) => cpusOf(machine, gpu.count, settings.cpus)),
    memoryBytes: least((machine) => memoryOf(machine, gpu.count, settings.memory)),
    requestShare: isAutomatic ? REQUESTED_SHARE : 1,
  };
}

function machinesOf({ pool, dataCenterId }: PlacedGpu, capacity: Capacity): Machine[] {
  const here = capacity.gpus.filter((one) => one.pool === pool && one.dataCenterId === dataCenterId);
  const whole = capacity.largest ?? capacity;
  const gpus = capacity.gpus.reduce((sum, { total }) => sum + total, 0);
  const machines = here.length === 0 ? [undefined] : here.map(({ machine }) => machine);
  return machines
    .map((machine) => machine ?? { cpus: whole.cpus, memoryBytes: whole.memoryBytes, gpus })
    .filter(({ cpus, memoryBytes }) => cpus > 0 && memoryBytes > 0);
}

function cpusOf({ cpus, gpus }: Machine, count: number, setting: PerGpuSettings['cpus']): number | null {
  if (setting === null) return null;
  const usable = cpus * USABLE_SHARE;
  const wanted = setting === 'auto' ? clamp((usable * count) / Math.max(1, gpus), MIN_CPUS, usable) : setting * count;
  return Math.floor(Math.min(wanted, cpus) * 100) / 100;
}

function memoryOf({ memoryBytes, gpus }: Machine, count: number, setting: PerGpuSettings['memory']): number | null {
  if (setting === null) return null;
  const usable = memoryBytes * USABLE_SHARE;
  const wanted =
    setting === 'auto'
      ? clamp((usable * count) / Math.max(1, gpus), MIN_MEMORY_BYTES, usable)
      : count * ('bytes' in setting ? setting.bytes : setting.share * memoryBytes);
  return Math.floor(Math.min(wanted, memoryBytes) / MEBIBYTE) * MEBIBYTE;
}

/** `most` wins where it is below `least`. */
function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most);
}
