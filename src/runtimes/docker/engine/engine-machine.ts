import { readFileSync } from 'node:fs';
import { Failure } from '../../../core/errors.ts';
import { type DiskSpace, readDisk } from '../../../core/files/read-disk.ts';
import type { Engine } from '../../../engine/engine.ts';

/** The members used of `GET /info`. */
interface EngineInfo {
  Architecture?: string;
  NCPU: number;
  MemTotal: number;
  Driver: string;
  SecurityOptions?: string[] | null;
  /** Where it keeps images. */
  DockerRootDir?: string;
  /** Only Podman's. */
  Rootless?: boolean;
  /** Docker's and Podman's: `1` or `2`. */
  CgroupVersion?: string;
  DriverStatus: [string, string][] | null;
  Runtimes?: Record<string, unknown> | null;
  /** From API 1.50 on. */
  DiscoveredDevices?: { Source: string; ID: string }[] | null;
}

/** The engine's report of GPUs. An engine may be able to give containers GPUs and not report it. */
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
  /** The folder of its images. */
  folder: string | null;
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
        folder: info.DockerRootDir ?? null,
      }),
      (error) => {
        this.#machine = undefined;
        throw error;
      },
    );
    return this.#machine;
  }

  /** See `Runtime.imageDisk`. */
  async imageDisk(): Promise<DiskSpace | null> {
    const { folder } = await this.read();
    return folder === null ? null : readDisk(folder).catch(() => null); // the engine may be on another machine
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

/** The user ids of a process that is in no user namespace: all of them. */
const ALL_USERS = '0 0 4294967295';

/** An engine answers, but Podyard cannot use it. The message says why, and what to do. */
export class UnusableEngine extends Failure {
  constructor(message: string) {
    super('unavailable', message);
  }
}

/**
 * Rejects with an UnusableEngine when workers of this engine could not reach Podyard. An engine of a user without rights (rootless)
 * has the network of its containers in a namespace of that user. Workers and Podyard reach each other only if Podyard is in the same
 * namespace, as after `podman unshare --rootless-netns`.
 */
export async function refuseOtherNamespace(
  engine: Engine,
  machine: EngineMachine,
  uidMap = '/proc/self/uid_map',
): Promise<void> {
  const { isRootless, cgroupVersion } = await machine.read();
  if (!isRootless || readFileSync(uidMap, 'utf8').trim().split(/\s+/).join(' ') !== ALL_USERS) return;
  const { name } = await engine.kind();
  const limits = 'With control groups of version 1 it can neither limit memory and CPUs nor freeze workers, either.';
  throw new UnusableEngine(
    [
      `${name} runs without root: its containers are on a network of its user's own, where workers cannot reach Podyard, nor Podyard them.`,
      ...(cgroupVersion === 1 ? [limits] : []),
      'Use the engine as root (Podman: systemctl enable --now podman.socket, and DOCKER_HOST=unix:///run/podman/podman.sock),',
      'or run workers as processes without isolation, with --runtime process',
    ].join(' '),
  );
}
