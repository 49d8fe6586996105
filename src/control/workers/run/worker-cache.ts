import type { EndpointId, WorkerId } from '../../../core/ids.ts';
import type { Pool } from '../../../db/pool.ts';
import { type LiveWorker, listLiveWorkers, toLiveWorker } from '../../../domain/workers/live-workers.ts';
import { type ControlledWorker, listControlledWorkers } from '../../../domain/workers/worker-lifecycle.ts';

/** Settled workers re-read per tick, in case a hint was lost. */
const REREAD_BATCH = 50;
/** Below this count, a resync re-reads every row. */
const REREAD_ALL_BELOW = 250;
/** How often all live workers are listed, for those that no hint named. */
const RESYNC_INTERVAL_MS = 30_000;
/** A resync reads pages with a pause between them, so that nothing waits for the whole list. */
const RESYNC_PAGE = 1_000;
const RESYNC_PAUSE_MS = 50;

interface CachedWorker extends LiveWorker {
  /** The last comparison that found its container. */
  seenIn: number;
}

/** A resync in progress: the pages read so far. Rows read one by one meanwhile are newer and win. */
interface Resync {
  found: Map<WorkerId, CachedWorker>;
  rereadIds: Set<WorkerId>;
  lastEndpointId: string;
}

/**
 * The live workers, and which of their rows to read again (decision 0018). Holds little more than the phase of each; whole
 * rows are read only of workers that something changed about, so the cost grows with changes, not with the number of workers.
 * All times are monotonic, in ms.
 */
export class WorkerCache {
  readonly #pool: Pool;
  #workers = new Map<WorkerId, CachedWorker>();
  readonly #unsettled = new Set<WorkerId>();
  readonly #draining = new Map<EndpointId, Set<WorkerId>>();
  readonly #dirty = new Set<WorkerId>();
  /** Rows that somebody else has read, and no hint has named since. */
  readonly #fresh = new Map<WorkerId, ControlledWorker>();
  readonly #dirtyAt = new Map<WorkerId, number>();
  /** Settled workers still to be re-read, last first: ids alone, because an iterator would keep the map that a resync replaced. */
  #toReread: WorkerId[] = [];
  #resyncedAt = Number.NEGATIVE_INFINITY;
  #resync: Resync | undefined;
  #comparison = 0;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  get size(): number {
    return this.#workers.size;
  }

  get hasDirty(): boolean {
    return this.#dirty.size + this.#fresh.size > 0;
  }

  get(id: WorkerId): LiveWorker | undefined {
    return this.#workers.get(id);
  }

  /** Begins a comparison with the runtime's list: `unseen` yields the workers that `see` is not called for from here on. */
  beginComparison(): void {
    this.#comparison += 1;
  }

  see(id: WorkerId): LiveWorker | undefined {
    const worker = this.#workers.get(id);
    if (worker) worker.seenIn = this.#comparison;
    return worker;
  }

  *unseen(): Iterable<LiveWorker> {
    for (const worker of this.#workers.values()) if (worker.seenIn !== this.#comparison) yield worker;
  }

  get pending(): WorkerId[] {
    return [...this.#unsettled].filter((id) => this.#workers.get(id)?.phase === 'PENDING');
  }

  hasPending(endpointId: EndpointId): boolean {
    for (const id of this.#unsettled) {
      const worker = this.#workers.get(id);
      if (worker?.endpointId === endpointId && worker.phase === 'PENDING') return true;
    }
    return false;
  }

  drainingOf(endpointId: EndpointId): Iterable<WorkerId> {
    return this.#draining.get(endpointId) ?? [];
  }

  /** Adds a row that was just written to what the next `takeFresh` returns, unless a hint names the worker until then. */
  add(worker: ControlledWorker): void {
    if (!this.#dirty.has(worker.id)) this.#fresh.set(worker.id, worker);
  }

  /** Adds workers to the next `readDirty`. True if there are any. */
  markDirty(ids: Iterable<WorkerId>): boolean {
    let hasAny = false;
    for (const id of ids) {
      this.#markDirty(id);
      hasAny = true;
    }
    return hasAny;
  }

  /** Adds a worker to the first `readDirty` from then on, unless its row is read before. */
  markDirtyAt(id: WorkerId, at: number): void {
    this.#dirtyAt.set(id, at);
  }

  /** Marks every unsettled worker and the next batch of settled ones. */
  markSome(): void {
    this.markDirty(this.#unsettled);
    for (let i = 0; i < Math.min(REREAD_BATCH, this.#workers.size); i++) {
      if (this.#toReread.length === 0) this.#toReread = [...this.#workers.keys()].reverse();
      this.#markDirty(this.#toReread.pop()!);
    }
  }

  #markDirty(id: WorkerId): void {
    this.#dirty.add(id);
    this.#fresh.delete(id);
  }

  /** Drops everything: the next `resync` reads the whole list. */
  reset(): void {
    this.#resyncedAt = Number.NEGATIVE_INFINITY;
    this.#resync = undefined;
    this.#workers.clear();
    this.#draining.clear();
    this.#dirtyAt.clear();
    this.#fresh.clear();
  }

  /** When there is something to do next: a page of a resync, or a row that `markDirtyAt` named. */
  get nextAt(): number {
    let nextAt = this.nextResyncAt;
    for (const at of this.#dirtyAt.values()) nextAt = Math.min(nextAt, at);
    return nextAt;
  }

  get nextResyncAt(): number {
    return this.#resyncedAt + (this.#resync ? RESYNC_PAUSE_MS : RESYNC_INTERVAL_MS);
  }

  /**
   * Reads a page of the list of live workers when one is due; the first time, the whole list. After the last page, returns
   * the workers that have a container and were not in the cache.
   */
  async resync(now: number): Promise<WorkerId[]> {
    if (now < this.nextResyncAt) return [];
    const isFirst = this.#resyncedAt === Number.NEGATIVE_INFINITY;
    this.#resync ??= { found: new Map(), rereadIds: new Set(), lastEndpointId: '' };
    const resync = this.#resync;
    let isComplete = await this.#readPage(resync);
    while (isFirst && !isComplete) isComplete = await this.#readPage(resync);
    this.#resyncedAt = now;
    return isComplete ? this.#finishResync(resync.found) : [];
  }

  async #readPage(resync: Resync): Promise<boolean> {
    const page = await listLiveWorkers(this.#pool, resync.lastEndpointId, RESYNC_PAGE);
    for (const { id, endpointId, phase, isSettled } of page) {
      if (resync.rereadIds.has(id)) continue;
      const known = this.#workers.get(id); // its strings, not equal ones of each row, live on
      const ids = known ? { id: known.id, endpointId: known.endpointId } : { id, endpointId };
      resync.found.set(ids.id, { ...ids, phase, isSettled, seenIn: 0 });
    }
    resync.lastEndpointId = page.at(-1)?.endpointId ?? '';
    return page.length < RESYNC_PAGE;
  }

  #finishResync(found: Map<WorkerId, CachedWorker>): WorkerId[] {
    const before = this.#workers;
    this.#workers = found;
    this.#resync = undefined;
    this.#unsettled.clear();
    const unknown: WorkerId[] = [];
    for (const { id, phase, isSettled } of found.values()) {
      if (!isSettled) this.#unsettled.add(id);
      if ((phase === 'RUNNING' || phase === 'FROZEN') && !before.has(id)) unknown.push(id);
      const hasChanged = (before.get(id)?.phase ?? phase) !== phase;
      if (!isSettled || hasChanged || found.size <= REREAD_ALL_BELOW) this.#markDirty(id);
    }
    return unknown;
  }

  /** Returns the rows that were just written. */
  takeFresh(): ControlledWorker[] {
    const fresh = [...this.#fresh.values()];
    this.#fresh.clear();
    for (const worker of fresh) this.#store(worker);
    return fresh;
  }

  /** Reads the rows of all dirty workers and of `others`. Drops those that have no row any more or have exited. */
  async readDirty(now: number, others: Iterable<WorkerId>): Promise<ControlledWorker[]> {
    this.markDirty(others);
    for (const [id, at] of this.#dirtyAt) if (at <= now) this.#markDirty(id);
    const ids = [...this.#dirty];
    const workers = ids.length === 0 ? [] : await this.#readRows(ids);
    const gone = new Set(ids);
    for (const worker of workers) {
      gone.delete(worker.id);
      this.#store(worker);
    }
    for (const id of gone) this.#drop(id);
    return workers;
  }

  async #readRows(ids: WorkerId[]): Promise<ControlledWorker[]> {
    this.#dirty.clear();
    return listControlledWorkers(this.#pool, { ids }).catch((error) => {
      this.markDirty(ids);
      throw error;
    });
  }

  #store(worker: ControlledWorker): void {
    const live = { ...toLiveWorker(worker), seenIn: 0 };
    this.#dirtyAt.delete(worker.id);
    this.#workers.set(worker.id, live);
    this.#resync?.found.set(worker.id, live);
    this.#resync?.rereadIds.add(worker.id);
    if (live.isSettled) this.#unsettled.delete(worker.id);
    else this.#unsettled.add(worker.id);
    const draining = this.#draining.get(worker.endpointId) ?? new Set();
    if (worker.wanted === 'DRAIN') this.#draining.set(worker.endpointId, draining.add(worker.id));
    else this.#dropDraining(worker.endpointId, worker.id);
  }

  #drop(id: WorkerId): void {
    const worker = this.#workers.get(id);
    if (worker) this.#dropDraining(worker.endpointId, id);
    this.#dirtyAt.delete(id);
    this.#workers.delete(id);
    this.#unsettled.delete(id);
    this.#resync?.found.delete(id);
    this.#resync?.rereadIds.add(id);
  }

  #dropDraining(endpointId: EndpointId, id: WorkerId): void {
    const draining = this.#draining.get(endpointId);
    if (draining?.delete(id) && draining.size === 0) this.#draining.delete(endpointId);
  }
}
