import type { WorkerId } from '../../core/ids.ts';

/**
 * Questions for work of workers that shall get none, held back a little so that they do not spin. A worker that is frozen
 * finds the answer when it is thawed; one that is thawed before the answer was due gets it at once, and asks again.
 */
export class ParkedTakes {
  readonly #byWorker = new Map<WorkerId, Set<() => void>>();

  /** Returns the function that ends the entry. */
  add(workerId: WorkerId, answer: () => void): () => void {
    const answers = this.#byWorker.get(workerId) ?? new Set();
    this.#byWorker.set(workerId, answers.add(answer));
    return () => {
      answers.delete(answer);
      if (answers.size === 0) this.#byWorker.delete(workerId);
    };
  }

  /** The worker shall work again. */
  release(workerId: WorkerId): void {
    for (const answer of [...(this.#byWorker.get(workerId) ?? [])]) answer();
  }
}
