import type { WorkerId } from '../../core/ids.ts';
import type { Bus } from '../../db/bus.ts';

export interface StopPoll {
  /** Reads the stop orders: there may be one. */
  check(): void;
  /** Answers 204 now. */
  dismiss(): void;
}

/** The held job-stop polls of this process. */
export class StopPolls {
  readonly #byWorker = new Map<WorkerId, Set<StopPoll>>();

  constructor(bus: Bus) {
    bus.subscribe('jobStop', (workerId) => {
      for (const poll of this.#byWorker.get(workerId as WorkerId) ?? []) poll.check();
    });
    bus.onGap(() => {
      for (const polls of this.#byWorker.values()) for (const poll of polls) poll.check();
    });
  }

  /** Returns the function that removes the poll. */
  add(workerId: WorkerId, poll: StopPoll): () => void {
    const polls = this.#byWorker.get(workerId) ?? new Set();
    this.#byWorker.set(workerId, polls.add(poll));
    return () => {
      polls.delete(poll);
      if (polls.size === 0) this.#byWorker.delete(workerId);
    };
  }

  /** Answers the polls of a worker that is draining, whose shutdown would wait for them. */
  dismiss(workerId: WorkerId): void {
    for (const poll of [...(this.#byWorker.get(workerId) ?? [])]) poll.dismiss();
  }

  dismissAll(): void {
    for (const workerId of [...this.#byWorker.keys()]) this.dismiss(workerId);
  }
}

/**
 * Takes of workers that get no jobs, held briefly so that such workers do not spin. A frozen worker finds the answer when
 * it is thawed; one that is thawed earlier is answered at once, and asks again.
 */
export class ParkedTakes {
  readonly #byWorker = new Map<WorkerId, Set<() => void>>();

  /** Returns the function that removes the take. */
  add(workerId: WorkerId, answer: () => void): () => void {
    const answers = this.#byWorker.get(workerId) ?? new Set();
    this.#byWorker.set(workerId, answers.add(answer));
    return () => {
      answers.delete(answer);
      if (answers.size === 0) this.#byWorker.delete(workerId);
    };
  }

  /** Answers the takes of a worker that gets jobs again. */
  release(workerId: WorkerId): void {
    for (const answer of [...(this.#byWorker.get(workerId) ?? [])]) answer();
  }
}
