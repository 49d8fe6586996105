import type { OnProgress } from '../../runtime.ts';

interface Work<T> {
  result: Promise<T>;
  listeners: Set<OnProgress>;
  last?: string;
}

/** Merges concurrent calls with the same key into one piece of work, and tells each of them how it goes. */
export class ToldWork<T = void> {
  readonly #work = new Map<string, Work<T>>();

  /** A call that joins work in progress hears the last line first. */
  run(key: string, onProgress: OnProgress | undefined, begin: (onProgress: OnProgress) => Promise<T>): Promise<T> {
    const { result, listeners, last } = this.#work.get(key) ?? this.#begin(key, begin);
    if (onProgress) {
      listeners.add(onProgress);
      if (last !== undefined) onProgress(last);
    }
    return result;
  }

  #begin(key: string, begin: (onProgress: OnProgress) => Promise<T>): Work<T> {
    const told: Pick<Work<T>, 'listeners' | 'last'> = { listeners: new Set() };
    const result = begin((line) => {
      told.last = line;
      for (const listener of told.listeners) listener(line);
    }).finally(() => this.#work.delete(key));
    const work = Object.assign(told, { result });
    this.#work.set(key, work);
    return work;
  }
}
