import type { ScalingWorker } from '../../src/scaling/situation.ts';
import type { PastStart } from '../../src/scaling/start-record.ts';
import type { Tenant } from './scenarios.ts';

export interface Sample {
  at: number;
  queued: number;
  inProgress: number;
  ready: number;
  starting: number;
  frozen: number;
  /** The longest wait among jobs started since the last sample or still waiting. */
  waitMs: number;
}

export interface TenantResult {
  name: string;
  samples: Sample[];
  /** How long each finished job had waited, in order. */
  waitsMs: number[];
  submitted: number;
  /** Jobs restarted because their worker disappeared. */
  repeated: number;
  starts: number;
  failedStarts: number;
  thaws: number;
  freezes: number;
  /** Decisions that drained a busy worker of the newest release. */
  busyDrained: number;
  /** Workers that left for another endpoint, and by the name of that endpoint. */
  gaveTo: Map<string, number>;
  mostWorkers: number;
  workerMs: number;
  busyMs: number;
}

export function emptyResult(name: string): TenantResult {
  return {
    name,
    samples: [],
    waitsMs: [],
    submitted: 0,
    repeated: 0,
    starts: 0,
    failedStarts: 0,
    thaws: 0,
    freezes: 0,
    busyDrained: 0,
    gaveTo: new Map(),
    mostWorkers: 0,
    workerMs: 0,
    busyMs: 0,
  };
}

export interface Job {
  cameAt: number;
  ms: number;
}

export interface Worker extends ScalingWorker {
  notBefore: number;
  waitsSince: number;
  place: { pool: string | null; dataCenterId: string | null } | null;
  /** Frozen, and its GPUs are free for others. */
  isAsleep: boolean;
  startedAt: number;
  readyAt: number | null;
  /** The endpoint that it leaves for. */
  yieldsTo: string | null;
  job: Job | null;
}

/** The queue, workers and results of one tenant. */
export class Endpoint {
  readonly tenant: Tenant;
  readonly result: TenantResult;
  readonly workers = new Map<string, Worker>();
  readonly queue: Job[] = [];
  queueHead = 0;
  version = 1;
  failures = { count: 0, lastAt: 0 };
  /** Its last starts, the newest last. */
  readonly starts: PastStart[] = [];
  decidesAt = Number.POSITIVE_INFINITY;
  decidedAt = Number.NEGATIVE_INFINITY;
  longestWaitMs = 0;

  constructor(tenant: Tenant) {
    this.tenant = tenant;
    this.result = emptyResult(tenant.name);
  }

  get queued(): number {
    return this.queue.length - this.queueHead;
  }

  next(): Job | undefined {
    if (this.queued === 0) return undefined;
    const job = this.queue[this.queueHead++];
    if (this.queueHead > 1_000 && this.queueHead * 2 > this.queue.length) {
      this.queue.splice(0, this.queueHead);
      this.queueHead = 0;
    }
    return job;
  }
}
