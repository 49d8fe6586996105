import type { WorkerId } from '../../core/ids.ts';
import type { Bus } from '../../db/bus.ts';

/** The held job-stop polls of this process. */
export class StopPolls {
  readonly #byWorker = new Map<WorkerId, Set<StopPoll>>();

  constructor(bus: Bus) {
    bus.subscribe('jobStop', (workerId) => {
      for (const poll of this.#byWorker.get(workerId as WorkerId) ?? []) poll.look();
    });
    bus.onGap(() => {
      for (const polls of this.#byWorker.values()) for (const poll of polls) poll.look();
    });
  }

  /** Returns the function that ends the entry. */
  add(workerId: WorkerId, poll: StopPoll): () => void {
    const polls = this.#byWorker.get(workerId) ?? new Set();
    this.#byWorker.set(workerId, polls.add(poll));
    return () => {
      polls.delete(poll);
      if (polls.size === 0) this.#byWorker.delete(workerId);
    };
  }

  /** The worker is to leave: its polls are answered, or its shutdown would wait for them. */
  dismiss(workerId: WorkerId): void {
    for (const poll of [...(this.#byWorker.get(workerId) ?? [])]) poll.dismiss();
  }

  dismissAll(): void {
    for (const workerId of [...this.#byWorker.keys()]) this.dismiss(workerId);
  }
}

export interface StopPoll {
  /** There may be an order: look at the table. */
  look(): void;
  /** Answer 204 now. */
  dismiss(): void;
}
