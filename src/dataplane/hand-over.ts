import type { EndpointId, WorkerId } from '../core/ids.ts';
import type { TakenJob } from '../domain/jobs/job.ts';

/** The database did not answer: the worker gets a 204 soon and asks again. */
const DATABASE_DOWN_HOLD_MS = 1_000;

/** A worker's held take. */
interface Waiter {
  readonly workerId: WorkerId;
  readonly version: number;
  readonly slots: number;
  /** Answers the take. False when the connection is gone and the jobs did not leave. */
  readonly deliver: (jobs: readonly TakenJob[]) => boolean;
  holdTimer: NodeJS.Timeout | undefined;
  /** It was dismissed, or its connection is gone: it gets nothing any more. */
  isOver: boolean;
  /** Its hold ended while a job was on its way: it gets that one or nothing. */
  isDue: boolean;
}

interface Line {
  readonly waiters: Waiter[];
  /** False only while it is known that the queue held nothing at the last look and nothing was queued since. */
  mayHaveQueued: boolean;
  /** Grows with every sign of a queued job: a look that started before the sign proves nothing. */
  signs: number;
  /** Waiters for whom a look or a reservation is under way. */
  readonly busy: Set<Waiter>;
}

/**
 * Brings jobs and waiting workers together inside this process.
 * - A job that is submitted while a worker waits is reserved for it (`reserve`) and committed as leased by it: one
 *   statement, no queue in between.
 * - Otherwise jobs wait in the table; a worker that asks, or a sign of a queued job (`wake`), leads to a look at it for
 *   one worker. Looks of the same moment share a statement (JobQueue.take).
 * The newest release is served first; within it the worker that waited least, so that surplus workers become idle for
 * good and can leave.
 */
export class HandOver {
  readonly #takeFromQueue: (endpointId: EndpointId, workerId: WorkerId, slots: number) => Promise<TakenJob[]>;
  readonly #giveBack: (endpointId: EndpointId, workerId: WorkerId, jobs: readonly TakenJob[]) => void;
  readonly #lines = new Map<EndpointId, Line>();
  #isEnding = false;

  constructor(options: {
    takeFromQueue: (endpointId: EndpointId, workerId: WorkerId, slots: number) => Promise<TakenJob[]>;
    /** Jobs are leased to a worker whose connection is gone: they have to return to the queue. */
    giveBack: (endpointId: EndpointId, workerId: WorkerId, jobs: readonly TakenJob[]) => void;
  }) {
    this.#takeFromQueue = options.takeFromQueue;
    this.#giveBack = options.giveBack;
  }

  /** Waits for jobs for at most `holdMs`; an empty list ends every wait that brings none. Aborts with the connection. */
  take(
    worker: { endpointId: EndpointId; workerId: WorkerId; version: number; slots: number; holdMs: number },
    deliver: (jobs: readonly TakenJob[]) => boolean,
  ): { abandon: () => void } {
    const line = this.#line(worker.endpointId);
    const waiter: Waiter = { ...worker, deliver, holdTimer: undefined, isOver: false, isDue: false };
    waiter.holdTimer = setTimeout(() => this.#endHold(line, waiter), worker.holdMs);
    if (line.mayHaveQueued) void this.#look(worker.endpointId, line, waiter);
    else this.#enlist(line, waiter);
    return {
      abandon: () => {
        waiter.isOver = true;
        clearTimeout(waiter.holdTimer);
        this.#unlist(line, waiter);
      },
    };
  }

  /** A worker for a job that is about to be committed, or undefined when it has to be queued. */
  reserve(endpointId: EndpointId): Reservation | undefined {
    const line = this.#line(endpointId);
    if (line.mayHaveQueued) return undefined; // older jobs go first
    const waiter = this.#next(line);
    if (!waiter) return undefined;
    line.busy.add(waiter);
    return {
      workerId: waiter.workerId,
      deliver: (job) => this.#deliver(endpointId, line, waiter, [job]),
      cancel: () => this.#enlistBriefly(line, waiter),
    };
  }

  /** `count` jobs were queued, here or elsewhere: as many waiting workers look for them. Answers how many there were. */
  wake(endpointId: EndpointId, count: number): number {
    const line = this.#line(endpointId);
    line.mayHaveQueued = true;
    line.signs += 1;
    for (let i = 0; i < count; i++) {
      const waiter = this.#next(line);
      if (!waiter) return i;
      void this.#look(endpointId, line, waiter);
    }
    return count;
  }

  /** A look for everybody who waits: signs may get lost between processes, the table is the truth. */
  wakeAll(): void {
    for (const [endpointId, line] of this.#lines) this.wake(endpointId, line.waiters.length);
  }

  /** The worker gets no more jobs: its held takes are answered now, those with a job on its way as soon as it is put back. */
  dismiss(endpointId: EndpointId, workerId: WorkerId): void {
    const line = this.#line(endpointId);
    for (const waiter of [...line.waiters, ...line.busy].filter((candidate) => candidate.workerId === workerId)) {
      waiter.isOver = true;
      if (!line.busy.has(waiter)) this.#answerEmpty(line, waiter);
    }
  }

  /** Answers all held takes, because this process is about to end; a job on its way still reaches its worker. */
  dismissAll(): void {
    this.#isEnding = true;
    for (const line of this.#lines.values()) {
      for (const waiter of [...line.waiters]) this.#answerEmpty(line, waiter);
    }
  }

  forget(endpointId: EndpointId): void {
    const line = this.#lines.get(endpointId);
    if (line && line.waiters.length === 0 && line.busy.size === 0) this.#lines.delete(endpointId);
  }

  #line(endpointId: EndpointId): Line {
    let line = this.#lines.get(endpointId);
    if (!line) {
      line = { waiters: [], mayHaveQueued: true, signs: 0, busy: new Set() };
      this.#lines.set(endpointId, line);
    }
    return line;
  }

  /** Takes from the table for one waiter; with an empty queue it waits on. */
  async #look(endpointId: EndpointId, line: Line, waiter: Waiter): Promise<void> {
    line.busy.add(waiter);
    try {
      for (;;) {
        const signs = line.signs;
        const jobs = await this.#takeFromQueue(endpointId, waiter.workerId, waiter.slots);
        if (jobs.length > 0) {
          this.#deliver(endpointId, line, waiter, jobs);
          return this.#lookFurther(endpointId, line);
        }
        if (line.signs === signs) line.mayHaveQueued = false;
        else if (!waiter.isOver) continue; // something was queued while we looked
        return this.#enlist(line, waiter);
      }
    } catch {
      this.#enlistBriefly(line, waiter);
    }
  }

  /**
   * Where one job was there may be more, whoever queued them: a sign says that there are some, not how many. So one look
   * leads to two, and a burst that came with a single sign finds all who wait.
   */
  #lookFurther(endpointId: EndpointId, line: Line): void {
    for (let i = 0; i < 2 && line.mayHaveQueued; i++) {
      const waiter = this.#next(line);
      if (!waiter) return;
      void this.#look(endpointId, line, waiter);
    }
  }

  #deliver(endpointId: EndpointId, line: Line, waiter: Waiter, jobs: readonly TakenJob[]): void {
    line.busy.delete(waiter);
    clearTimeout(waiter.holdTimer);
    if (!waiter.isOver && waiter.deliver(jobs)) return;
    this.#giveBack(endpointId, waiter.workerId, jobs);
    waiter.deliver([]);
  }

  /** Stands in line for the rest of its hold. */
  #enlist(line: Line, waiter: Waiter): void {
    line.busy.delete(waiter);
    if (waiter.isOver || waiter.isDue || this.#isEnding) this.#answerEmpty(line, waiter);
    else line.waiters.push(waiter);
  }

  #enlistBriefly(line: Line, waiter: Waiter): void {
    clearTimeout(waiter.holdTimer);
    waiter.holdTimer = setTimeout(() => this.#endHold(line, waiter), DATABASE_DOWN_HOLD_MS);
    this.#enlist(line, waiter);
  }

  #endHold(line: Line, waiter: Waiter): void {
    if (line.busy.has(waiter)) waiter.isDue = true;
    else this.#answerEmpty(line, waiter);
  }

  #answerEmpty(line: Line, waiter: Waiter): void {
    clearTimeout(waiter.holdTimer);
    this.#unlist(line, waiter);
    waiter.deliver([]);
  }

  #unlist(line: Line, waiter: Waiter): void {
    const at = line.waiters.indexOf(waiter);
    if (at >= 0) line.waiters.splice(at, 1);
  }

  #next(line: Line): Waiter | undefined {
    let best = line.waiters.length - 1;
    for (let i = best - 1; i >= 0; i--) if (line.waiters[i]!.version > line.waiters[best]!.version) best = i;
    const waiter = line.waiters[best];
    if (waiter) this.#unlist(line, waiter);
    return waiter;
  }
}

export interface Reservation {
  readonly workerId: WorkerId;
  /** To be called after the commit. */
  deliver(job: TakenJob): void;
  /** The commit failed: the worker waits on. */
  cancel(): void;
}
