/**
 * Work that several callers wait for: the first begins it, others join, and it is cancelled once none waits any more.
 */
export class SharedWork<T> {
  readonly #work = new Map<string, { result: Promise<T>; waiting: number; controller: AbortController }>();
  readonly #ending = new Map<string, Promise<void>>();

  /**
   * Resolves with the result of the work named `key`, which `begin` begins unless it is running. Rejects with the reason of `signal` when
   * that aborts, whether or not the work continues for others.
   */
  async run(key: string, signal: AbortSignal, begin: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const work = this.#work.get(key) ?? this.#begin(key, begin);
    work.waiting += 1;
    try {
      return await untilAborted(work.result, signal);
    } finally {
      work.waiting -= 1;
      if (work.waiting === 0) {
        work.controller.abort(new Error('nothing waits for it any more'));
        this.#work.delete(key);
        const ended = work.result.then(
          () => {},
          () => {},
        );
        this.#ending.set(key, ended); // the next caller begins again, after it
        await ended;
        if (this.#ending.get(key) === ended) this.#ending.delete(key);
      }
    }
  }

  #begin(key: string, begin: (signal: AbortSignal) => Promise<T>) {
    const controller = new AbortController();
    const before = this.#ending.get(key) ?? Promise.resolve();
    const result = before.then(() => begin(controller.signal));
    result.catch(() => {}); // its waiters see it
    const work = { result, waiting: 0, controller };
    this.#work.set(key, work);
    return work;
  }
}

async function untilAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    stop = () => signal.removeEventListener('abort', onAbort);
  });
  return Promise.race([result, aborted]).finally(stop);
}
