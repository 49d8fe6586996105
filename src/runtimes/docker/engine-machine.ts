import type { Engine } from './engine.ts';

/** The members used of `GET /info`. */
interface EngineInfo {
  NCPU: number;
  MemTotal: number;
  Driver: string;
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
  memoryBytes: number;
  cpus: number;
  /** Whether the engine's storage can limit a container's disk. Set to false when the engine refuses after all. */
  canLimitDisk: boolean;
  gpus: GpuSupport;
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
        memoryBytes: info.MemTotal,
        cpus: info.NCPU,
        canLimitDisk: hasDiskLimits(info),
        gpus: gpuSupportOf(info),
      }),
      (error) => {
        this.#machine = undefined;
        throw error;
      },
    );
    return this.#machine;
  }
}

const CDI_KIND = 'nvidia.com/gpu';

function gpuSupportOf({ Runtimes, DiscoveredDevices }: EngineInfo): GpuSupport {
  const hasNvidiaRuntime = Object.keys(Runtimes ?? {}).some((name) => /^nvidia\b/.test(name));
  const cdiDevices = (DiscoveredDevices ?? []).flatMap(({ Source, ID }) =>
    Source === 'cdi' && ID.startsWith(`${CDI_KIND}=`) ? [ID] : [],
  );
  return { hasNvidia: hasNvidiaRuntime || cdiDevices.length > 0, hasNvidiaRuntime, cdiDevices, cdiKind: CDI_KIND };
}

/** overlay2 needs XFS mounted with project quotas; only a try shows whether it has them. */
function hasDiskLimits({ Driver, DriverStatus }: EngineInfo): boolean {
  if (Driver === 'btrfs' || Driver === 'zfs') return true;
  return (
    Driver === 'overlay2' &&
    (DriverStatus ?? []).some(([name, value]) => /^backing fs|^backing filesystem/i.test(name) && value === 'xfs')
  );
}
