/** Merges concurrent calls with the same key into one piece of work (singleflight). */
export class InFlight<T = void> {
  readonly #work = new Map<string, Promise<T>>();

  run(key: string, begin: () => Promise<T>): Promise<T> {
    const current = this.#work.get(key);
    if (current) return current;
    const work = begin().finally(() => this.#work.delete(key));
    this.#work.set(key, work);
    return work;
  }

  /** Resolves when nothing is in flight for `key`, whether it succeeded or failed. */
  async settled(key: string): Promise<void> {
    await this.#work.get(key)?.catch(() => {});
  }
}
