/** Lets all who ask for one thing at the same moment share one piece of work. */
export class InFlight<T = void> {
  readonly #work = new Map<string, Promise<T>>();

  run(key: string, begin: () => Promise<T>): Promise<T> {
    const current = this.#work.get(key);
    if (current) return current;
    const work = begin().finally(() => this.#work.delete(key));
    this.#work.set(key, work);
    return work;
  }

  /** Resolves when nothing is under way for `key`, however it ended. */
  async settled(key: string): Promise<void> {
    await this.#work.get(key)?.catch(() => {});
  }
}
