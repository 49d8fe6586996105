import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { Pool } from '../../db/pool.ts';
import {
  type ControlledWorker,
  type LiveWorker,
  listControlledWorkers,
  listLiveWorkers,
  toLiveWorker,
} from '../../domain/workers/worker-lifecycle.ts';

/** So many of the workers that nothing was heard of are read again at a time: a hint may have been lost. */
const SWEEP_AT_ONCE = 50;
/** So few are all read when the list is. */
const FEW = 250;
/** So often all live workers are listed, for those that no hint told of. */
const LEARN_MS = 30_000;
/** In pages, so that nothing waits for the whole list, and with a pause between them. */
const LEARN_AT_ONCE = 1_000;
const LEARN_PAUSE_MS = 50;

interface KnownWorker extends LiveWorker {
  /** The last round in which it was seen. */
  seenIn: number;
}

/** The list as far as it is read, and whatever was heard of single workers meanwhile, which is newer. */
interface Lesson {
  found: Map<WorkerId, KnownWorker>;
  heardOf: Set<WorkerId>;
  lastEndpointId: string;
}

/**
 * Which workers live, and which of them to read again. Of most only the phase is remembered; the whole row is read of
 * those that something changed about, so that the cost grows with what changes and not with what there is.
 */
export class KnownWorkers {
  readonly #pool: Pool;
  #workers = new Map<WorkerId, KnownWorker>();
  /** Those that are on their way somewhere. */
  readonly #unsettled = new Set<WorkerId>();
  readonly #draining = new Map<EndpointId, Set<WorkerId>>();
  readonly #dirty = new Set<WorkerId>();
  #sweep: Iterator<WorkerId> = [][Symbol.iterator]();
  #learnedAt = Number.NEGATIVE_INFINITY;
  #lesson: Lesson | undefined;
  #round = 0;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  get size(): number {
    return this.#workers.size;
  }

  get hasDirty(): boolean {
    return this.#dirty.size > 0;
  }

  get(id: WorkerId): LiveWorker | undefined {
    return this.#workers.get(id);
  }

  /** From here on, `unseen` are those for which `see` was not called. */
  beginRound(): void {
    this.#round += 1;
  }

  see(id: WorkerId): LiveWorker | undefined {
    const worker = this.#workers.get(id);
    if (worker) worker.seenIn = this.#round;
    return worker;
  }

  *unseen(): Iterable<LiveWorker> {
    for (const worker of this.#workers.values()) if (worker.seenIn !== this.#round) yield worker;
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
    this.#lesson = undefined;
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

  /** When `learn` wants to be called next. */
  get learnsAt(): number {
    return this.#lesson ? this.#learnedAt + LEARN_PAUSE_MS : this.#learnedAt + LEARN_MS;
  }

  /**
   * Reads a page of the list of live workers when that is due, and the first time the whole list. At its end answers with
   * those that were not known, and work.
   */
  async learn(now: number): Promise<WorkerId[]> {
    if (now >= this.#learnedAt && now < this.learnsAt) return [];
    const isFirst = this.#learnedAt === Number.NEGATIVE_INFINITY;
    this.#lesson ??= { found: new Map(), heardOf: new Set(), lastEndpointId: '' };
    const lesson = this.#lesson;
    let isOver = await this.#readPage(lesson);
    while (isFirst && !isOver) isOver = await this.#readPage(lesson);
    this.#learnedAt = now;
    return isOver ? this.#finish(lesson.found) : [];
  }

  async #readPage(lesson: Lesson): Promise<boolean> {
    const page = await listLiveWorkers(this.#pool, lesson.lastEndpointId, LEARN_AT_ONCE);
    for (const { id, endpointId, phase, isSettled } of page) {
      if (!lesson.heardOf.has(id)) lesson.found.set(id, { id, endpointId, phase, isSettled, seenIn: 0 });
    }
    lesson.lastEndpointId = page.at(-1)?.endpointId ?? '';
    return page.length < LEARN_AT_ONCE;
  }

  #finish(found: Map<WorkerId, KnownWorker>): WorkerId[] {
    const before = this.#workers;
    this.#workers = found;
    this.#lesson = undefined;
    this.#unsettled.clear();
    const unknown: WorkerId[] = [];
    for (const { id, phase, isSettled } of found.values()) {
      if (!isSettled) this.#unsettled.add(id);
      if (isSettled && !before.has(id)) unknown.push(id);
      if (!isSettled || found.size <= FEW || (before.get(id)?.phase ?? phase) !== phase) this.#dirty.add(id);
    }
    return unknown;
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
    const live = { ...toLiveWorker(worker), seenIn: 0 };
    this.#workers.set(worker.id, live);
    this.#lesson?.found.set(worker.id, live);
    this.#lesson?.heardOf.add(worker.id);
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
    this.#lesson?.found.delete(id);
    this.#lesson?.heardOf.add(id);
  }

  #dropDraining(endpointId: EndpointId, id: WorkerId): void {
    const draining = this.#draining.get(endpointId);
    if (draining?.delete(id) && draining.size === 0) this.#draining.delete(endpointId);
  }
}
