import { monotonicClock } from '../core/clock.ts';
import type { EndpointId, WorkerId } from '../core/ids.ts';
import { Roster } from '../core/roster.ts';
import type { TakenJob } from '../domain/jobs/job.ts';

/** Hold of a take when the database does not answer: the worker gets a 204 soon and asks again. */
const DATABASE_DOWN_HOLD_MS = 1_000;
/**
 * Polls that find jobs show for so long that there are more than workers; and how late other processes may hear of one more then.
 * A backlog that has lasted is likely to stay for a while.
 */
const BACKLOG = { shownMs: 10, hintPauseMs: 25 };
const LONG_BACKLOG = { lastedMs: 1_000, shownMs: 100, hintPauseMs: 100 };

/** A worker's held take. */
interface Waiter {
  readonly workerId: WorkerId;
  readonly version: number;
  readonly slots: number;
  /** Answers the take. False when the connection is gone and the jobs were not sent. */
  readonly deliver: (jobs: readonly TakenJob[]) => boolean;
  /** When its hold ends. If a job is on its way then, it gets that one or nothing. */
  endsAt: number;
  /** Set while it waits: under load most takes find a job at once. */
  timer: NodeJS.Timeout | undefined;
  /** Dismissed, or its connection is gone: it gets no more jobs. */
  isClosed: boolean;
  place: number;
}

/** The held takes of one endpoint. */
interface WaitList {
  readonly endpointId: EndpointId;
  /** Its endpoint may be gone: nothing is remembered once no worker waits. */
  isForgotten: boolean;
  readonly waiters: Waiter[];
  /** False only when the last poll found the queue empty and nothing was queued since. */
  mayHaveQueued: boolean;
  /** When a poll last found jobs. */
  foundAt: number;
  /** Since when no poll has found the queue empty. */
  foundSince: number;
  /** Hints of queued jobs so far. A poll that started before the latest one does not prove the queue empty. */
  hints: number;
  /** Waiters with a poll or a reservation in flight. */
  readonly busy: Roster<Waiter>;
}

/**
 * Matches jobs with waiting workers inside this process.
 * - A job that is submitted while a worker waits is reserved for it (`reserve`) and committed as leased by it, in one
 *   statement, without passing through the queue.
 * - Otherwise jobs wait in the table. A take, or a hint of a queued job (`wake`), polls the table for one worker;
 *   concurrent polls share a statement (JobQueue.take).
 * The newest release is served first; within it the worker that waited least, so that surplus workers stay idle and can
 * be stopped.
 */
export class Matchmaker {
  readonly #takeFromQueue: (endpointId: EndpointId, workerId: WorkerId, slots: number) => Promise<TakenJob[]>;
  readonly #returnToQueue: (endpointId: EndpointId, workerId: WorkerId, jobs: readonly TakenJob[]) => void;
  readonly #waitLists = new Map<EndpointId, WaitList>();
  #isStopping = false;

  constructor(options: {
    takeFromQueue: (endpointId: EndpointId, workerId: WorkerId, slots: number) => Promise<TakenJob[]>;
    /** Requeues jobs that were leased to a worker whose connection is gone. */
    returnToQueue: (endpointId: EndpointId, workerId: WorkerId, jobs: readonly TakenJob[]) => void;
  }) {
    this.#takeFromQueue = options.takeFromQueue;
    this.#returnToQueue = options.returnToQueue;
  }

  /** Waits for jobs for at most `holdMs`; delivers `[]` on timeout. Call `abandon` when the connection closes. */
  take(
    worker: { endpointId: EndpointId; workerId: WorkerId; version: number; slots: number; holdMs: number },
    deliver: (jobs: readonly TakenJob[]) => boolean,
  ): { abandon: () => void } {
    const list = this.#waitList(worker.endpointId);
    const { workerId, version, slots, holdMs } = worker;
    const endsAt = monotonicClock.now() + holdMs;
    const waiter: Waiter = { workerId, version, slots, deliver, endsAt, timer: undefined, isClosed: false, place: -1 };
    if (list.mayHaveQueued) void this.#poll(worker.endpointId, list, waiter);
    else this.#wait(list, waiter);
    return {
      abandon: () => {
        waiter.isClosed = true;
        this.#remove(list, waiter);
        this.#dropIfUnused(list);
      },
    };
  }

  /** Reserves a worker for a job that is about to be committed; undefined when the job has to be queued. */
  reserve(endpointId: EndpointId): Reservation | undefined {
    const list = this.#waitList(endpointId);
    if (list.mayHaveQueued) return undefined; // older jobs go first
    const waiter = this.#removeNext(list);
    if (!waiter) return undefined;
    list.busy.add(waiter);
    return {
      workerId: waiter.workerId,
      deliver: (job) => this.#deliver(endpointId, list, waiter, [job]),
      cancel: () => this.#waitBriefly(list, waiter),
    };
  }

  /** Polls for up to `count` waiting workers, after `count` jobs were queued here or elsewhere. Returns how many there were. */
  wake(endpointId: EndpointId, count: number): number {
    const list = this.#waitLists.get(endpointId);
    if (!list) return 0;
    list.mayHaveQueued = true;
    list.hints += 1;
    for (let i = 0; i < count; i++) {
      const waiter = this.#removeNext(list);
      if (!waiter) return i;
      void this.#poll(endpointId, list, waiter);
    }
    return count;
  }

  /** Polls for every waiting worker: hints may be lost, the table is the truth. */
  wakeAll(): void {
    for (const [endpointId, list] of this.#waitLists) this.wake(endpointId, list.waiters.length);
  }

  /** Gives the worker no more jobs: answers its held takes now, and those with a job on its way once that is requeued. */
  dismiss(endpointId: EndpointId, workerId: WorkerId): void {
    const list = this.#waitLists.get(endpointId);
    if (!list) return;
    for (const waiter of [...list.waiters, ...list.busy].filter((candidate) => candidate.workerId === workerId)) {
      waiter.isClosed = true;
      if (!list.busy.has(waiter)) this.#answerEmpty(list, waiter);
    }
  }

  /** Answers all held takes before the process stops; a job on its way still reaches its worker. */
  dismissAll(): void {
    this.#isStopping = true;
    for (const list of this.#waitLists.values()) {
      for (const waiter of [...list.waiters]) this.#answerEmpty(list, waiter);
    }
  }

  /** The endpoint was changed or deleted. */
  forget(endpointId: EndpointId): void {
    const list = this.#waitLists.get(endpointId);
    if (!list) return;
    list.isForgotten = true;
    this.#dropIfUnused(list);
  }

  /**
   * How late other processes may hear of one more queued job, in ms. While polls here find jobs, so do theirs, which need no hint
   * of each.
   */
  hintPauseMs(endpointId: EndpointId): number {
    const list = this.#waitLists.get(endpointId);
    if (list === undefined) return 0;
    const { shownMs, hintPauseMs } = list.foundAt - list.foundSince < LONG_BACKLOG.lastedMs ? BACKLOG : LONG_BACKLOG;
    return monotonicClock.now() - list.foundAt < shownMs ? hintPauseMs : 0;
  }

  /** How many endpoints are remembered. */
  get size(): number {
    return this.#waitLists.size;
  }

  #dropIfUnused(list: WaitList): void {
    const isUsed = list.waiters.length > 0 || list.busy.size > 0;
    if (list.isForgotten && !isUsed && this.#waitLists.get(list.endpointId) === list)
      this.#waitLists.delete(list.endpointId);
  }

  #waitList(endpointId: EndpointId): WaitList {
    let list = this.#waitLists.get(endpointId);
    if (!list) {
      const busy = new Roster<Waiter>();
      list = {
        endpointId,
        isForgotten: false,
        waiters: [],
        mayHaveQueued: true,
        foundAt: Number.NEGATIVE_INFINITY,
        foundSince: 0,
        hints: 0,
        busy,
      };
      this.#waitLists.set(endpointId, list);
    }
    return list;
  }

  /** Takes jobs from the table for one waiter, which keeps waiting when the queue is empty. */
  async #poll(endpointId: EndpointId, list: WaitList, waiter: Waiter): Promise<void> {
    list.busy.add(waiter);
    try {
      for (;;) {
        const hints = list.hints;
        const jobs = await this.#takeFromQueue(endpointId, waiter.workerId, waiter.slots);
        if (jobs.length > 0) {
          const now = monotonicClock.now();
          if (list.foundAt === Number.NEGATIVE_INFINITY) list.foundSince = now;
          list.foundAt = now;
          this.#deliver(endpointId, list, waiter, jobs);
          return this.#pollForMore(endpointId, list);
        }
        list.foundAt = Number.NEGATIVE_INFINITY;
        if (list.hints === hints) list.mayHaveQueued = false;
        else if (!waiter.isClosed) continue; // a job was queued during the poll
        return this.#wait(list, waiter);
      }
    } catch {
      this.#waitBriefly(list, waiter);
    }
  }

  /** Starts two more polls after one that found a job: a hint says that jobs are queued, not how many. */
  #pollForMore(endpointId: EndpointId, list: WaitList): void {
    for (let i = 0; i < 2 && list.mayHaveQueued; i++) {
      const waiter = this.#removeNext(list);
      if (!waiter) return;
      void this.#poll(endpointId, list, waiter);
    }
  }

  #deliver(endpointId: EndpointId, list: WaitList, waiter: Waiter, jobs: readonly TakenJob[]): void {
    list.busy.delete(waiter);
    this.#dropIfUnused(list);
    if (!waiter.isClosed && waiter.deliver(jobs)) return;
    this.#returnToQueue(endpointId, waiter.workerId, jobs);
    waiter.deliver([]);
  }

  /** Waits for the rest of the hold. */
  #wait(list: WaitList, waiter: Waiter): void {
    list.busy.delete(waiter);
    const leftMs = waiter.endsAt - monotonicClock.now();
    if (waiter.isClosed || leftMs <= 0 || this.#isStopping) {
      this.#answerEmpty(list, waiter);
      return;
    }
    waiter.timer = setTimeout(() => this.#answerEmpty(list, waiter), Math.ceil(leftMs));
    list.waiters.push(waiter);
  }

  #waitBriefly(list: WaitList, waiter: Waiter): void {
    waiter.endsAt = Math.min(waiter.endsAt, monotonicClock.now() + DATABASE_DOWN_HOLD_MS);
    this.#wait(list, waiter);
  }

  #answerEmpty(list: WaitList, waiter: Waiter): void {
    this.#remove(list, waiter);
    this.#dropIfUnused(list);
    waiter.deliver([]);
  }

  #remove(list: WaitList, waiter: Waiter): void {
    clearTimeout(waiter.timer);
    const at = list.waiters.indexOf(waiter);
    if (at >= 0) list.waiters.splice(at, 1);
  }

  #removeNext(list: WaitList): Waiter | undefined {
    let best = list.waiters.length - 1;
    for (let i = best - 1; i >= 0; i--) if (list.waiters[i]!.version > list.waiters[best]!.version) best = i;
    const waiter = list.waiters[best];
    if (waiter) this.#remove(list, waiter);
    return waiter;
  }
}

export interface Reservation {
  readonly workerId: WorkerId;
  /** Call it after the commit. */
  deliver(job: TakenJob): void;
  /** The commit failed: the worker keeps waiting. */
  cancel(): void;
}
