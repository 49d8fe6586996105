import type { Engine } from './engine.ts';

/** The members used of `GET /info`. */
interface EngineInfo {
  Architecture?: string;
  NCPU: number;
  MemTotal: number;
  Driver: string;
  SecurityOptions?: string[] | null;
  /** Only Podman's. */
  Rootless?: boolean;
  /** Docker's and Podman's: `1` or `2`. */
  CgroupVersion?: string;
  DriverStatus: [string, string][] | null;
  Runtimes?: Record<string, unknown> | null;
  /** From API 1.50 on. */
  DiscoveredDevices?: { Source: string; ID: string }[] | null;
}

/** What the engine says about GPUs. An engine may be able to give containers GPUs and say nothing of it. */
export interface GpuSupport {
  /** It has NVIDIA's runtime, or CDI devices of NVIDIA's. */
  hasNvidia: boolean;
  hasNvidiaRuntime: boolean;
  /** Names of CDI devices: `nvidia.com/gpu=GPU-…`, and others by index. */
  cdiDevices: readonly string[];
  cdiKind: string;
}

export interface Machine {
  /** As the kernel names it, like `x86_64`; empty when the engine names none. */
  architecture: string;
  memoryBytes: number;
  cpus: number;
  /** The engine belongs to a user without rights: containers and their network are in namespaces of that user. */
  isRootless: boolean;
  cgroupVersion: 1 | 2;
  /** Whether the engine's storage can limit a container's disk. Set to false when the engine refuses after all. */
  canLimitDisk: boolean;
  gpus: GpuSupport;
  /** The storage driver and the file system below it. */
  storage: string;
}

/** The machine that the engine runs on. Asks once. */
export class EngineMachine {
  readonly #engine: Engine;
  #machine: Promise<Machine> | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  read(): Promise<Machine> {
    this.#machine ??= this.#engine.json<EngineInfo>({ method: 'GET', path: '/info' }).then(
      (info) => ({
        architecture: architectureOf(info),
        memoryBytes: info.MemTotal,
        cpus: info.NCPU,
        isRootless: info.Rootless === true || (info.SecurityOptions ?? []).includes('name=rootless'),
        cgroupVersion: info.CgroupVersion === '1' ? 1 : 2,
        canLimitDisk: hasDiskLimits(info),
        gpus: gpuSupportOf(info),
        storage: storageOf(info),
      }),
      (error) => {
        this.#machine = undefined;
        throw error;
      },
    );
    return this.#machine;
  }
}

/** Podman has Go's names of architectures. */
const KERNEL_NAMES: Readonly<Record<string, string>> = { amd64: 'x86_64', arm64: 'aarch64' };

function architectureOf({ Architecture = '' }: EngineInfo): string {
  return KERNEL_NAMES[Architecture] ?? Architecture;
}

const CDI_KIND = 'nvidia.com/gpu';

function gpuSupportOf({ Runtimes, DiscoveredDevices }: EngineInfo): GpuSupport {
  const hasNvidiaRuntime = Object.keys(Runtimes ?? {}).some((name) => /^nvidia\b/.test(name));
  const cdiDevices = (DiscoveredDevices ?? []).flatMap(({ Source, ID }) =>
    Source === 'cdi' && ID.startsWith(`${CDI_KIND}=`) ? [ID] : [],
  );
  return { hasNvidia: hasNvidiaRuntime || cdiDevices.length > 0, hasNvidiaRuntime, cdiDevices, cdiKind: CDI_KIND };
}

/** Returns a sentence without a period when containers can write more than their disk; else null. */
export function diskNoticeOf({ canLimitDisk, storage }: Machine): string | null {
  if (canLimitDisk) return null;
  return `The engine cannot limit the disk of a container (${storage}): one that writes more than its disk and a tenth is stopped, but may fill this machine's disk first`;
}

/** overlay2 needs XFS mounted with project quotas; only a try shows whether it has them. */
function hasDiskLimits({ Driver, DriverStatus }: EngineInfo): boolean {
  if (Driver === 'btrfs' || Driver === 'zfs') return true;
  return Driver === 'overlay2' && backingOf(DriverStatus) === 'xfs';
}

function backingOf(status: EngineInfo['DriverStatus']): string | undefined {
  return status?.find(([name]) => /^backing (?:fs|filesystem)/i.test(name))?.[1];
}

function storageOf({ Driver, DriverStatus }: EngineInfo): string {
  const backing = backingOf(DriverStatus);
  return backing === undefined ? Driver : `${Driver} on ${backing}`;
}
