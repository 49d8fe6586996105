/**
 * The interface to a place that runs containers. A runtime knows workloads, not endpoints or pods, so that one interface
 * runs both. Every runtime passes the suite in test/runtime-contract/contract.ts.
 */

import { Failure } from '../core/errors.ts';
import type { RuntimeName } from '../core/runtime-names.ts';
import type { ImageIdentity } from '../domain/images/image-identity.ts';
import type { ExecRequest, Execution } from './execution.ts';
import type { GroupNetwork, GroupNetworks } from './groups.ts';
import type { AheadImage, OnProgress, PrepareOptions, RegistryAuth } from './prepare-options.ts';

export type { FileServerPods, StorageOwner, StorageRequest, WorkloadStorage } from './storage.ts';
export type { AheadImage, GpuSleep, GroupNetwork, GroupNetworks, OnProgress, PrepareOptions, RegistryAuth };

/** GPUs of a pool on one node. `free`: those held by no workload of this installation. */
export interface GpuCapacity {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
  free: number;
  /** The machine that they are in, with all its GPUs. Absent: the one that `Capacity` describes. */
  machine?: { cpus: number; memoryBytes: number; gpus: number };
  /** The CUDA version that the driver supports. Absent: unknown. */
  cudaVersion?: string;
  /** Memory of each GPU. Absent: as in the catalog. */
  memoryGb?: number;
}

export interface Capacity {
  gpus: GpuCapacity[];
  /** The problem of GPUs that are not in the list, in one sentence without a period. */
  gpuProblem?: string;
  memoryBytes: number;
  cpus: number;
  /** With several machines, the one with the most memory: the most that a workload without limits may get. */
  largest?: { memoryBytes: number; cpus: number };
  /** The machines by data center. Absent: all are in the local one. */
  places?: { dataCenterId: string; memoryBytes: number; cpus: number }[];
}

/** GPUs of a pool, together in one place. */
export interface WantedGpus {
  pool: string;
  count: number;
  /** Only GPUs of this type. Absent: any of the pool. */
  gpuTypeId?: string;
  /** Only where the driver supports exactly this CUDA version. Absent: any. */
  cudaVersion?: string;
}

export interface WorkloadSpec {
  /** Unique across kinds; container names and host labels are made from it. */
  id: string;
  kind: 'worker' | 'pod';
  /** Its name, or the `reference` of what it stood for. */
  image: string;
  /** The private registry's record and credentials, for runtimes that pull when a workload starts. */
  registry: { id: string; auth: RegistryAuth } | null;
  /** `""` for the image's own command; see docs/interface/rest.md, "Container settings" for the two forms. */
  args: string;
  env: Readonly<Record<string, string>>;
  /** Variables for a container whose image does not set them. A runtime that cannot see the image's leaves them out. */
  imageDefaults?: Readonly<Record<string, string>>;
  diskGb: number;
  /** `<port>/<protocol>` items. */
  ports: readonly string[];
  /** Private port → the public port to use on this machine. The runtime chooses for ports not listed. */
  publicPorts?: Readonly<Record<number, number>>;
  gpu: WantedGpus | null;
  /** Where it must run; null: anywhere. */
  dataCenterId: string | null;
  /** Limits; null: none. */
  memoryBytes: number | null;
  cpus: number | null;
  /** The share of the limits that is set aside for it, where the runtime can. Default 1; the rest is used only while free. */
  requestShare?: number;
  mounts: readonly Mount[];
  /** Models that the machine which the cluster chooses has to get first. Absent: there are none, or they are in `mounts`. */
  models?: CopiedModels;
  /** The group whose network it is also on, which `groups.ensure` created. Absent: none. */
  group?: { id: string; rank: number };
  /** The endpoint of a worker: where the runtime can, workers of one endpoint are spread over machines. */
  endpointId?: string;
  /** More labels and annotations, where the runtime has such. */
  metadata?: { labels: Readonly<Record<string, string>>; annotations: Readonly<Record<string, string>> };
  /** Preferred where the runtime has to choose which workloads stay. */
  isPriority: boolean;
}

/** Models that a runtime of several machines copies to that of the workload before it runs. */
export interface CopiedModels {
  /** Where they are copied from. A secret. */
  url: string;
  /** The ids of the models. */
  ids: readonly string[];
  bytes: number;
  /** Where the workload may write beside them. */
  hub: string;
  /** Folders of the workload's view of them, read-only in it: the name in the view, and an absolute path. */
  folders: readonly { name: string; target: string }[];
}

/** `source` is what the runtime's storage returned (storage.ts); `target` is an absolute path in the workload. */
export interface Mount {
  source: string;
  target: string;
  /** The workload may not write there. Not enforced where nothing is isolated. */
  isReadOnly?: boolean;
}

/** A port of a workload. `public` and `ip`: where it is published; null for one that is not, as all HTTP ports are not. */
export interface PublishedPort {
  private: number;
  public: number | null;
  type: 'http' | 'tcp';
  ip: string | null;
}

/** The address of a running workload, as this machine reaches it, and its ports. */
export interface Whereabouts {
  address: string | null;
  publishedPorts: PublishedPort[];
  /** The image that it runs, where that is known only now. */
  image?: ImageIdentity;
}

/** Current usage, in percent of what the workload may use: 0 to 100. */
export interface WorkloadStats {
  cpuUtil: number;
  memoryUtil: number;
  /** One per GPU; zeros for simulated ones. */
  gpus: { util: number; memoryUtil: number }[];
}

export interface StartOptions {
  onProgress?: OnProgress;
  /** Called once the workload is created and about to run. */
  onCreated?: () => void;
  /** Called when the workload is created but has no place yet, with what is missing; again when that changes. */
  onWaiting?: (missing: string) => void;
  /** Called when the models of the workload begin to be copied to its machine, and when they are there. */
  onModels?: (areThere: boolean) => void;
  /** Called every few seconds with the progress of its machine, while that fetches the image or the models; null: the start continues. */
  onBringing?: (how: string | null) => void;
  /** Cancels the start: one that still waits rejects soon, leaving nothing behind. */
  signal?: AbortSignal;
}

export type ObservedState = 'created' | 'running' | 'frozen' | 'exited';

export interface Observed {
  id: string;
  kind: 'worker' | 'pod';
  state: ObservedState;
  /** Where this machine reaches it while it runs. For display: connections use `reach`. */
  address: string | null;
  /** Empty unless it runs. */
  publishedPorts: PublishedPort[];
  exitCode: number | null;
  /** One sentence if it ended badly, e.g. out of memory. */
  reason: string | null;
  startedAt: Date | null;
  finishedAt: Date | null;
  /** How its GPU was lost: it runs, but cannot work any more. */
  loss?: string;
}

export interface LogLine {
  ts: Date;
  line: string;
}

export interface LogsOptions {
  since?: Date;
  seen?: number;
  follow: boolean;
  signal: AbortSignal;
}

/** Called when a workload ended or changed; not necessarily for a new one. A hint: `list()` is the truth. */
export type OnEvent = (workloadId: string) => void;

/**
 * How a runtime freezes: `freezer` stops all execution; `parked` leaves the workload running with as little CPU as
 * possible, and the caller must send it no work.
 */
type FreezeKind = 'freezer' | 'parked';

/** No place was found although there seemed to be one: the workload waits. The text says what is missing. */
export class NoCapacity extends Failure {
  constructor(detail: string) {
    super('unavailable', detail);
    this.name = 'NoCapacity';
  }
}

/** Measures what workloads have written to their own disks, which this runtime may be unable to limit. */
export interface DiskMeter {
  /** Null: this one is limited, or is gone. Reads every directory entry, so call it seldom. */
  usedBytes(id: string): Promise<number | null>;
}

/** Keeps some workers of an endpoint when machines are emptied on purpose. */
export interface EvictionGuard {
  /** Returns how many workers of each guarded endpoint stay; null where nothing can be guarded. */
  list(): Promise<Map<string, number> | null>;
  /** Guards the endpoint: at least `workers` of its workers stay. Idempotent. */
  keep(endpointId: string, workers: number): Promise<void>;
  /** Ends that. Idempotent. */
  release(endpointId: string): Promise<void>;
}

export interface Runtime {
  readonly name: RuntimeName;
  /** `freeze` is null where the runtime cannot freeze. */
  readonly capabilities: {
    gpu: boolean;
    freeze: FreezeKind | null;
    volumes: boolean;
    logs: boolean;
    isolation: boolean;
  };
  /** Null where the GPUs of a workload stay with it until it ends. */
  readonly gpuSleep: GpuSleep | null;
  readonly groups: GroupNetworks;
  /** Null where the runtime itself limits the disks of workloads. */
  readonly disks: DiskMeter | null;
  /** Null where only Podyard ends workloads. */
  readonly evictions: EvictionGuard | null;
  /**
   * Returns where workloads reach this machine: the address to bind the worker API to, and the host for URLs. Creates what
   * that needs, e.g. a bridge network. `own`: the host that stands for this process alone, where `host` stands for several.
   */
  workerApiAddress(): Promise<{ bind: string; host: string; own?: string }>;
  capacity(): Promise<Capacity>;
  /**
   * Makes the image present. Rejects with a sentence fit for users. Does nothing where the node pulls when a workload starts: then `start`
   * rejects with that sentence. Returns what the image is, once `pinned` or `resolve` asked for it; null where only a running workload
   * reports it (`Whereabouts`). Access to the image depends on its name, not on what is pinned.
   */
  prepare(image: string, options?: PrepareOptions): Promise<ImageIdentity | null>;
  /**
   * Rejects, with a sentence fit for users, unless the holder of these credentials may use a present image. Resolves for a missing one, and
   * where nothing is built from this machine's images.
   */
  admitImage(image: string, auth?: RegistryAuth): Promise<void>;
  /**
   * Creates and starts a workload. Idempotent by id: a running one is left alone. On failure it rejects and leaves nothing
   * behind; with `NoCapacity` when it found no place.
   */
  start(spec: WorkloadSpec, options?: StartOptions): Promise<Whereabouts>;
  /**
   * Returns where to connect to a port of a running workload; null when it does not run, or is known not to listen there.
   * Never returns a place where something else answers: neither this machine's own programs nor another workload. Cheap
   * enough to call for each new connection; do not cache the result.
   */
  reach(id: string, port: number): Promise<{ host: string; port: number } | null>;
  /** Returns null when it does not run. May take a few hundred milliseconds: some runtimes sample counters twice. */
  stats(id: string): Promise<WorkloadStats | null>;
  /** Resident memory in bytes, also while frozen. Rejects with `notFound`. */
  memoryBytes(id: string): Promise<number>;
  /** Stops all execution and keeps the memory; or parks the workload (see `FreezeKind`). Idempotent. */
  freeze(id: string): Promise<void>;
  /** Resumes a frozen workload. Idempotent. */
  thaw(id: string): Promise<void>;
  /** Sends SIGTERM, and SIGKILL after `graceMs`, then removes it. Resolves when it is gone. Idempotent; also for frozen ones. */
  stop(id: string, graceMs: number): Promise<void>;
  /** All workloads of this installation, including ended ones until they are stopped. */
  list(): Promise<Observed[]>;
  /**
   * stdout and stderr, oldest first, from `since` (exclusive); with `follow`, until the workload ends or `signal` aborts.
   * Several lines may share one `ts`, which has only milliseconds. For an exact resume, pass the latest time you have as
   * `since` and the number of lines you have of exactly that time as `seen`; without `seen`, all of them are skipped.
   */
  logs(id: string, options: LogsOptions): AsyncIterable<LogLine>;
  /**
   * Returns the last `count` lines of a workload's stderr, running or ended; of all its output where the streams are mixed or stderr is
   * empty. Empty for an unknown workload.
   */
  lastOutput(id: string, count: number): Promise<string[]>;
  /**
   * Runs a program beside a running workload's own, with its environment and files. Rejects with `notFound`, with
   * `conflict` when the workload does not run, is frozen, or cannot run programs. A program that does not exist either
   * rejects or exits with 126 or 127.
   */
  exec(id: string, request: ExecRequest): Promise<Execution>;
  /**
   * Calls `onEvent` until the returned function is called. Survives an engine that goes away; `onReturn` is called within about
   * a second of its return, by runtimes whose engine can be away.
   */
  watch(onEvent: OnEvent, onReturn?: () => void): () => void;
  /**
   * Has one machine that could run workers with the image, and lacks it, pull it; false: there is none. It is asked only once.
   * Rejects with a sentence fit for users. Absent where `prepare` pulls.
   */
  pullAhead?(wanted: AheadImage, signal: AbortSignal): Promise<boolean>;
  /** Returns the disk that images are on; null where it cannot be seen. Absent where every machine looks after its own. */
  imageDisk?(): Promise<{ totalBytes: number; freeBytes: number } | null>;
  /** Prepares what makes the starts of workers faster, from now on. Absent where nothing does. */
  expectStarts?(): void;
  /**
   * Removes images that the runtime made itself in order to have what a name stood for, all but those of `references` and
   * of workloads. Absent where it makes none.
   */
  keepImages?(references: readonly string[]): Promise<void>;
  /** Removes what processes that were killed have left besides workloads. Absent where they leave nothing. */
  tidy?(): Promise<void>;
  /** Releases connections, and what was prepared for starts. Workloads keep running. */
  close(): Promise<void>;
}

/** Lets workloads that sleep, and so hold no GPU memory, share GPUs with others. */
interface GpuSleep {
  /** Makes the GPUs of a workload that sleeps free for others, until `claim` or the end of this process. Idempotent. */
  release(id: string): Promise<void>;
  /** Takes them back. Returns the workloads that hold one of them: it has got them when there is none. Idempotent. */
  claim(id: string): Promise<string[]>;
  /** Returns why `suspend` cannot work here, one sentence; null when it can. */
  checkpointHindrance(): Promise<string | null>;
  /** Returns how much of the memory of its GPUs is in use: what `suspend` would move. */
  gpuMemoryBytes(id: string): Promise<number>;
  /** Moves the GPU memory of a running workload to the machine's memory. When it rejects, the workload is as it was. */
  suspend(id: string): Promise<void>;
  /** Moves it back, to the GPUs that the workload was started with. */
  resume(id: string): Promise<void>;
}
