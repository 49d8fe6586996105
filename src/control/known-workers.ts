import type { EndpointId, WorkerId } from '../core/ids.ts';
import type { Pool } from '../db/pool.ts';
import {
  type ControlledWorker,
  type LiveWorker,
  listControlledWorkers,
  listLiveWorkers,
  toLiveWorker,
} from '../domain/workers/worker-lifecycle.ts';

/** So many of the workers that nothing was heard of are read again at a time: a hint may have been lost. */
const SWEEP_AT_ONCE = 50;
/** So few are all read when the list is. */
const FEW = 250;
/** So often the list of live workers is read as a whole, for those that no hint told of. */
const LEARN_MS = 30_000;

/**
 * Which workers live, and which of them to read again. Of most only the phase is remembered; the whole row is read of
 * those that something changed about, so that the cost grows with what changes and not with what there is.
 */
export class KnownWorkers {
  readonly #pool: Pool;
  #workers = new Map<WorkerId, LiveWorker>();
  /** Those that are on their way somewhere. */
  readonly #unsettled = new Set<WorkerId>();
  readonly #draining = new Map<EndpointId, Set<WorkerId>>();
  readonly #dirty = new Set<WorkerId>();
  #sweep: Iterator<WorkerId> = [][Symbol.iterator]();
  #learnedAt = Number.NEGATIVE_INFINITY;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  get size(): number {
    return this.#workers.size;
  }

  get hasDirty(): boolean {
    return this.#dirty.size > 0;
  }

  get ids(): Iterable<WorkerId> {
    return this.#workers.keys();
  }

  get(id: WorkerId): LiveWorker | undefined {
    return this.#workers.get(id);
  }

  get pending(): WorkerId[] {
    return [...this.#unsettled].filter((id) => this.#workers.get(id)?.phase === 'PENDING');
  }

  drainingOf(endpointId: EndpointId): Iterable<WorkerId> {
    return this.#draining.get(endpointId) ?? [];
  }

  /** They are part of the next `readDirty`. True if there are any. */
  markDirty(ids: Iterable<WorkerId>): boolean {
    let hasAny = false;
    for (const id of ids) {
      this.#dirty.add(id);
      hasAny = true;
    }
    return hasAny;
  }

  /** Everything is read from the table at the next occasion. */
  forget(): void {
    this.#learnedAt = Number.NEGATIVE_INFINITY;
    this.#workers.clear();
  }

  /** What is on its way is to be read again, and a part of the rest. */
  markSome(): void {
    this.markDirty(this.#unsettled);
    for (let i = 0; i < Math.min(SWEEP_AT_ONCE, this.#workers.size); i++) {
      let next = this.#sweep.next();
      if (next.done) {
        this.#sweep = this.#workers.keys();
        next = this.#sweep.next();
      }
      if (!next.done) this.#dirty.add(next.value);
    }
  }

  /** Reads the list of live workers when that is due; answers with those that were not known, and work. */
  async learn(now: number): Promise<WorkerId[]> {
    if (Math.abs(now - this.#learnedAt) < LEARN_MS) return [];
    const live = await listLiveWorkers(this.#pool);
    const before = this.#workers;
    const found = live.filter(({ id, isSettled }) => isSettled && !before.has(id)).map(({ id }) => id);
    this.#workers = new Map(live.map((worker) => [worker.id, worker]));
    this.#learnedAt = now;
    this.#unsettled.clear();
    for (const { id, phase, isSettled } of live) {
      if (!isSettled) this.#unsettled.add(id);
      if (!isSettled || live.length <= FEW || (before.get(id)?.phase ?? phase) !== phase) this.#dirty.add(id);
    }
    return found;
  }

  /** The rows of all that are dirty, and of `others`. Those without a row, or that ended, are known no more. */
  async readDirty(others: Iterable<WorkerId>): Promise<ControlledWorker[]> {
    this.markDirty(others);
    if (this.#dirty.size === 0) return [];
    const ids = [...this.#dirty];
    this.#dirty.clear();
    const workers = await listControlledWorkers(this.#pool, { ids }).catch((error) => {
      this.markDirty(ids);
      throw error;
    });
    const gone = new Set(ids);
    for (const worker of workers) {
      gone.delete(worker.id);
      this.#note(worker);
    }
    for (const id of gone) this.#drop(id);
    return workers;
  }

  #note(worker: ControlledWorker): void {
    const live = toLiveWorker(worker);
    this.#workers.set(worker.id, live);
    if (live.isSettled) this.#unsettled.delete(worker.id);
    else this.#unsettled.add(worker.id);
    const draining = this.#draining.get(worker.endpointId) ?? new Set();
    if (worker.wanted === 'DRAIN') this.#draining.set(worker.endpointId, draining.add(worker.id));
    else this.#dropDraining(worker.endpointId, worker.id);
  }

  #drop(id: WorkerId): void {
    const worker = this.#workers.get(id);
    if (worker) this.#dropDraining(worker.endpointId, id);
    this.#workers.delete(id);
    this.#unsettled.delete(id);
  }

  #dropDraining(endpointId: EndpointId, id: WorkerId): void {
    const draining = this.#draining.get(endpointId);
    if (draining?.delete(id) && draining.size === 0) this.#draining.delete(endpointId);
  }
}
