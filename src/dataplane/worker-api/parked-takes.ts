import type { WorkerId } from '../../core/ids.ts';

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
