/**
 * What Podyard needs of a place that runs containers. A runtime knows workloads, not endpoints or pods: one interface
 * runs both. Every runtime passes the suite in contract.ts.
 */

import { Failure } from '../core/errors.ts';

/** A GPU pool on one node: how many GPUs there are, and how many hold no workload of ours. */
export interface GpuCapacity {
  pool: string;
  gpuTypeId: string;
  dataCenterId: string;
  total: number;
  free: number;
}

export interface Capacity {
  gpus: GpuCapacity[];
  memoryBytes: number;
  cpus: number;
  /** Of several machines the one with the most memory: what a workload without limits may have at most. */
  largest?: { memoryBytes: number; cpus: number };
}

export interface RegistryAuth {
  username: string;
  password: string;
}

/** A line about the life of a workload, told while it happens; it becomes a `system` log line. */
export type OnProgress = (line: string) => void;

export interface WorkloadSpec {
  /** Unique over all kinds; a container name and a host label may be made of it. */
  id: string;
  kind: 'worker' | 'pod';
  image: string;
  /** The record of the image's private registry with its credentials, for runtimes that pull when a workload starts. */
  registry: { id: string; auth: RegistryAuth } | null;
  /** `""` for the image's own command; see docs/interface/rest.md, "Container settings" for the two forms. */
  args: string;
  env: Readonly<Record<string, string>>;
  diskGb: number;
  /** `<port>/<protocol>` items. */
  ports: readonly string[];
  /** Private port → where this machine shall publish it; of a port that is not named, the runtime chooses. */
  publicPorts?: Readonly<Record<number, number>>;
  gpu: { pool: string; count: number } | null;
  /** Where it has to run; null: anywhere. */
  dataCenterId: string | null;
  memoryBytes: number | null;
  cpus: number | null;
  mounts: readonly Mount[];
  /** It comes before others where the runtime has to choose who stays. */
  isPriority: boolean;
}

/** What the runtime's storage answered (storage.ts), and the absolute path at which the workload finds it. */
export interface Mount {
  source: string;
  target: string;
}

/** A port of a workload. `public` and `ip`: where this machine publishes it; null when it does not. */
export interface PublishedPort {
  private: number;
  public: number | null;
  type: 'http' | 'tcp';
  ip: string | null;
}

/** Where a running workload is: its address as this machine reaches it, and its ports. */
export interface Whereabouts {
  address: string | null;
  publishedPorts: PublishedPort[];
}

/** What a workload uses at this moment, in percent of what it may use: 0 to 100. */
export interface WorkloadStats {
  cpuUtil: number;
  memoryUtil: number;
  /** One for each GPU it holds; zeros for simulated ones. */
  gpus: { util: number; memoryUtil: number }[];
}

export interface StartOptions {
  onProgress?: OnProgress;
  /** It is made, and about to run. */
  onCreated?: () => void;
  /** It is made, but has no place yet: a sentence about what is missing. Told again when that changes. */
  onWaiting?: (missing: string) => void;
  /** It is not wanted any more: a start that still waits rejects soon, leaving nothing behind. */
  signal?: AbortSignal;
}

export type ObservedState = 'created' | 'running' | 'frozen' | 'exited';

export interface Observed {
  id: string;
  kind: 'worker' | 'pod';
  state: ObservedState;
  /** Where this machine reaches it, when it runs. A hint for people: connections go where `reach` says. */
  address: string | null;
  /** Empty unless it runs. */
  publishedPorts: PublishedPort[];
  exitCode: number | null;
  /** One sentence when it ended badly, e.g. that it ran out of memory. */
  reason: string | null;
  startedAt: Date | null;
  finishedAt: Date | null;
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

/** A workload ended or changed; one that came need not be told of. A hint: `list()` is the truth. */
export type OnEvent = (workloadId: string) => void;

/**
 * What a freeze is: `freezer` stops all execution; `parked` leaves the workload running with as little CPU as can be had,
 * and it is up to others to give it no work.
 */
export type FreezeKind = 'freezer' | 'parked';

/**
 * A start found no place although there seemed to be one: the workload waits, and nothing is wrong with it. The text is
 * one sentence about what is missing.
 */
export class NoCapacity extends Failure {
  constructor(detail: string) {
    super('unavailable', detail);
    this.name = 'NoCapacity';
  }
}

export interface Runtime {
  readonly name: 'docker' | 'process' | 'simulated' | 'kubernetes';
  /** `freeze` is null where nothing can be frozen. */
  readonly capabilities: {
    gpu: boolean;
    freeze: FreezeKind | null;
    volumes: boolean;
    logs: boolean;
    isolation: boolean;
  };
  /**
   * Where workloads reach this machine: the address to bind the worker API to, and the host that workloads put in URLs.
   * Makes what is needed for it (a bridge network, say).
   */
  workerApiAddress(): Promise<{ bind: string; host: string }>;
  capacity(): Promise<Capacity>;
  /**
   * Makes the image present. Rejects with a sentence fit for users when it cannot be had. Where somebody else pulls when
   * a workload starts, it does nothing, and `start` rejects with that sentence.
   */
  prepare(image: string, options?: { auth?: RegistryAuth; onProgress?: OnProgress }): Promise<void>;
  /**
   * Creates and starts. Idempotent by id: a workload that runs already is left alone. Rejects on failure, leaving nothing
   * behind; with `NoCapacity` when it found no place.
   */
  start(spec: WorkloadSpec, options?: StartOptions): Promise<Whereabouts>;
  /**
   * Where to open a connection to a port of a running workload; null when it does not run, or where it is known that
   * nothing of it listens there. Never a place where something else answers: neither this machine's own programs nor
   * another workload. Cheap enough for each new connection; do not keep the answer.
   */
  reach(id: string, port: number): Promise<{ host: string; port: number } | null>;
  /** Null when it does not run. Takes up to a few seconds: two looks at counters, for some. */
  stats(id: string): Promise<WorkloadStats | null>;
  /** What it holds in memory, in bytes, frozen or not. Rejects with `notFound` when it is not there. */
  memoryBytes(id: string): Promise<number>;
  /** Stops all execution, keeping memory; or parks it, see `FreezeKind`. Idempotent. */
  freeze(id: string): Promise<void>;
  /** Idempotent. */
  thaw(id: string): Promise<void>;
  /** SIGTERM, `graceMs` to end, then SIGKILL; removes what is left. Resolves when it is gone. Idempotent; a frozen one is stopped as well. */
  stop(id: string, graceMs: number): Promise<void>;
  /** All workloads that carry this installation's label, ended ones included until they are stopped. */
  list(): Promise<Observed[]>;
  /**
   * stdout and stderr, oldest first, from `since` (exclusive); with `follow`, until the workload ends or `signal` aborts.
   * Many lines may carry one `ts`, since a Date counts milliseconds. `seen` makes a resume exact: with `since` the
   * latest time the caller has, it is the number of lines of exactly that time; without it, all of them count as seen.
   */
  logs(id: string, options: LogsOptions): AsyncIterable<LogLine>;
  /** Calls `onEvent` while subscribed; survives an engine that goes away. Returns the function that ends it. */
  watch(onEvent: OnEvent): () => void;
  /** Releases connections; workloads go on. */
  close(): Promise<void>;
}
