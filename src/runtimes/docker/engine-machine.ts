import type { Engine } from './engine.ts';

/** The members used of `GET /info`. */
interface EngineInfo {
  NCPU: number;
  MemTotal: number;
  Driver: string;
  DriverStatus: [string, string][] | null;
}

export interface Machine {
  memoryBytes: number;
  cpus: number;
  /** Whether the engine's storage can limit a container's disk. Set to false when the engine refuses after all. */
  canLimitDisk: boolean;
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
      (info) => ({ memoryBytes: info.MemTotal, cpus: info.NCPU, canLimitDisk: hasDiskLimits(info) }),
      (error) => {
        this.#machine = undefined;
        throw error;
      },
    );
    return this.#machine;
  }
}

/** overlay2 needs XFS mounted with project quotas; only a try shows whether it has them. */
function hasDiskLimits({ Driver, DriverStatus }: EngineInfo): boolean {
  if (Driver === 'btrfs' || Driver === 'zfs') return true;
  return (
    Driver === 'overlay2' &&
    (DriverStatus ?? []).some(([name, value]) => /^backing fs|^backing filesystem/i.test(name) && value === 'xfs')
  );
}
