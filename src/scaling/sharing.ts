/** The inputs of sharing capacity, and its orders: plain values; times are milliseconds since 1970. */
import type { PlaceRequest, PoolCapacity } from './place-worker.ts';
import type { ReclaimableWorker } from './reclaim-gpus.ts';
import type { StartRecord } from './start-record.ts';

export interface WaitingWorker {
  id: string;
  endpointId: string;
  userId: string;
  /** Null: it needs no GPU. */
  request: PlaceRequest | null;
  waitsSince: number;
  /** The runtime refused it although GPUs seemed free: it lacks something else. */
  wasRefused?: boolean;
}

/** A worker that has GPUs. */
export interface HoldingWorker {
  id: string;
  endpointId: string;
  userId: string;
  /** Null without GPUs. */
  pool: string | null;
  /** Absent: unknown, which is taken for the type that is needed. */
  gpuTypeId?: string | null;
  dataCenterId: string | null;
  count: number;
  /** Since when it has been ready; while it starts, since it has had its place. */
  since: number;
  isReady: boolean;
  isBusy: boolean;
  /** The weight of its release (releases.ts). 0: it leaves for new workers of its endpoint. */
  weight: number;
  /** It is leaving already: its GPUs become free. */
  isLeaving: boolean;
  /** The endpoint for which it leaves. */
  yieldsTo: string | null;
}

/** Free GPUs that a worker left for an endpoint a moment ago. */
export interface Reservation {
  endpointId: string;
  pool: string;
  gpuTypeId: string | null;
  dataCenterId: string;
  count: number;
}

/** A worker that was preempted within the last five minutes. */
export interface PastYield {
  fromEndpointId: string;
  toEndpointId: string;
  level: number;
}

export interface Sharing {
  capacities: readonly PoolCapacity[];
  waiting: readonly WaitingWorker[];
  holding: readonly HoldingWorker[];
  reserved?: readonly Reservation[];
  /** Workers that hold GPUs without using them. */
  reclaimable?: readonly ReclaimableWorker[];
  past?: readonly PastYield[];
  /** Returns how many of an endpoint's workers must stay: `workers.min`. */
  minOf: (endpointId: string) => number;
  /** Returns the GPUs that a user is sure to get. */
  quotaOf?: (userId: string) => number;
  recordOf?: (endpointId: string) => StartRecord;
  now: number;
}

/** A worker that drains so that another one gets its GPUs. */
export interface Yield {
  id: string;
  endpointId: string;
  forWorkerId: string;
  forEndpointId: string;
  /** `rollout`: for its own endpoint. `quota`: the other user has a right to them. `share`: the other one has less. */
  cause: 'rollout' | 'quota' | 'share';
  /** GPUs that the other endpoint holds. */
  held: number;
  /** The GPUs that the other endpoint will have with them. */
  level: number;
  waitedMs: number;
}
