import type { HoldingWorker, WaitingWorker } from './sharing.ts';

/** GPUs and workers of an endpoint. */
export type Usage = { gpus: number; workers: number };

/** The GPUs that each user and endpoint holds: kept up to date while capacity is shared. */
export class Holdings {
  /** Workers that are not leaving, and those that are. */
  readonly stayers: Set<HoldingWorker>;
  readonly leaving: HoldingWorker[] = [];
  /** GPUs by endpoint and by user, with those that workers of others are about to leave for them. */
  readonly #held = new Map<string, number>();
  readonly #heldByUser = new Map<string, number>();
  /** The same without what is about to be left, and the number of workers. */
  readonly #staying = new Map<string, Usage>();
  readonly #stayingOfUser = new Map<string, number>();
  readonly #byEndpoint: Map<string, HoldingWorker[]>;
  readonly #byUser: Map<string, HoldingWorker[]>;
  readonly #userOf = new Map<string, string>();
  readonly #endpointsOf = new Map<string, Set<string>>();

  constructor(holding: readonly HoldingWorker[], waiting: readonly WaitingWorker[]) {
    this.#byEndpoint = Map.groupBy(holding, ({ endpointId }) => endpointId);
    this.#byUser = Map.groupBy(holding, ({ userId }) => userId);
    this.stayers = new Set(holding.filter(({ isLeaving }) => !isLeaving));
    for (const { endpointId, userId } of [...holding, ...waiting]) {
      if (this.#userOf.has(endpointId)) continue;
      this.#userOf.set(endpointId, userId);
      this.#endpointsOf.set(userId, (this.#endpointsOf.get(userId) ?? new Set()).add(endpointId));
    }
    for (const worker of holding) this.#addHolder(worker);
  }

  #addHolder(worker: HoldingWorker): void {
    const owner = (worker.isLeaving ? worker.yieldsTo : null) ?? worker.endpointId;
    add(this.#held, owner, worker.count);
    add(this.#heldByUser, this.#userOf.get(owner) ?? worker.userId, worker.count);
    if (worker.isLeaving) {
      this.leaving.push(worker);
      return;
    }
    add(this.#stayingOfUser, worker.userId, worker.count);
    const { gpus, workers } = this.stayingOf(worker.endpointId);
    this.#staying.set(worker.endpointId, { gpus: gpus + worker.count, workers: workers + 1 });
  }

  heldBy(endpointId: string): number {
    return this.#held.get(endpointId) ?? 0;
  }

  heldByUser(userId: string): number {
    return this.#heldByUser.get(userId) ?? 0;
  }

  stayingOf(endpointId: string): Usage {
    return this.#staying.get(endpointId) ?? { gpus: 0, workers: 0 };
  }

  stayingOfUser(userId: string): number {
    return this.#stayingOfUser.get(userId) ?? 0;
  }

  /** Returns the number of a user's endpoints that hold or want GPUs. */
  endpointsOf(userId: string): number {
    return this.#endpointsOf.get(userId)?.size ?? 1;
  }

  workersOf(endpointId: string): readonly HoldingWorker[] {
    return this.#byEndpoint.get(endpointId) ?? [];
  }

  workersOfUser(userId: string): readonly HoldingWorker[] {
    return this.#byUser.get(userId) ?? [];
  }

  /** Returns the workers whose GPUs a user has, or is about to get. */
  keptBy(userId: string): HoldingWorker[] {
    const staying = this.workersOfUser(userId).filter((one) => this.stayers.has(one));
    const coming = this.leaving.filter((one) => this.#userOf.get(one.yieldsTo ?? one.endpointId) === userId);
    return [...staying, ...coming];
  }

  /** A worker was placed. */
  give({ endpointId, userId }: WaitingWorker, count: number): void {
    add(this.#held, endpointId, count);
    add(this.#heldByUser, userId, count);
  }

  /** A worker leaves for another one. */
  pass(one: HoldingWorker, to: WaitingWorker): void {
    this.stayers.delete(one);
    this.leaving.push({ ...one, isLeaving: true, yieldsTo: to.endpointId });
    const { gpus, workers } = this.stayingOf(one.endpointId);
    this.#staying.set(one.endpointId, { gpus: gpus - one.count, workers: workers - 1 });
    add(this.#stayingOfUser, one.userId, -one.count);
    add(this.#held, one.endpointId, -one.count);
    add(this.#heldByUser, one.userId, -one.count);
    this.give(to, one.count);
  }
}

/** Adds to a number that is 0 if it is missing. */
export function add(map: Map<string, number>, key: string, count: number): void {
  map.set(key, (map.get(key) ?? 0) + count);
}
