import type { PerGpuSettings } from '../../config/gpu-share-settings.ts';
import type { Capacity } from '../../runtimes/runtime.ts';

/** Limits of a workload; null: none. See `WorkloadSpec`. */
export interface WorkloadLimits {
  cpus: number | null;
  memoryBytes: number | null;
  requestShare: number;
}

/** A limit, and what a machine has of it for each workload of that size if all its GPUs are in use. */
interface Share {
  limit: number;
  fair: number;
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
/** The part of it that a cluster sets aside: its nodes also run pods that Podyard may not see. */
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

/** Returns the resources that programs are told of: the limits, or the machine where there are none. */
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
 * GPU. Never more than a machine has. A share below the least limit is requested as it is, so that requests never keep a
 * node's GPUs from being used.
 */
function gpuShare(gpu: PlacedGpu, capacity: Capacity, settings: PerGpuSettings): WorkloadLimits {
  const machines = machinesOf(gpu, capacity);
  const cpus = least(machines.map((machine) => cpusOf(machine, gpu.count, settings.cpus)));
  const memory = least(machines.map((machine) => memoryOf(machine, gpu.count, settings.memory)));
  const isAutomatic = settings.cpus === 'auto' && settings.memory === 'auto';
  const fairShares = [cpus, memory].map((share) => (share === null ? 1 : Math.min(1, share.fair / share.limit)));
  return {
    cpus: cpus === null ? null : Math.floor(cpus.limit * 100) / 100,
    memoryBytes: memory === null ? null : Math.floor(memory.limit / MEBIBYTE) * MEBIBYTE,
    requestShare: isAutomatic ? REQUESTED_SHARE * Math.min(...fairShares) : 1,
  };
}

function least(shares: (Share | null)[]): Share | null {
  const known = shares.filter((share) => share !== null);
  return known.length === 0 ? null : known.reduce((one, other) => (other.limit < one.limit ? other : one));
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

function cpusOf({ cpus, gpus }: Machine, count: number, setting: PerGpuSettings['cpus']): Share | null {
  if (setting === null) return null;
  if (setting === 'auto') return automatic(cpus, gpus, count, MIN_CPUS);
  return fixed(cpus, setting * count);
}

function memoryOf({ memoryBytes, gpus }: Machine, count: number, setting: PerGpuSettings['memory']): Share | null {
  if (setting === null) return null;
  if (setting === 'auto') return automatic(memoryBytes, gpus, count, MIN_MEMORY_BYTES);
  return fixed(memoryBytes, count * ('bytes' in setting ? setting.bytes : setting.share * memoryBytes));
}

/** `minimum` counts up to what the machine has. */
function automatic(amount: number, gpus: number, count: number, minimum: number): Share {
  const usable = amount * USABLE_SHARE;
  const fair = (usable * count) / Math.max(1, gpus);
  return { limit: Math.min(Math.max(fair, minimum), usable), fair };
}

function fixed(amount: number, wanted: number): Share {
  const limit = Math.min(wanted, amount);
  return { limit, fair: limit };
}
