import type { OnProgress } from '../../runtime.ts';

interface Work<T> {
  result: Promise<T>;
  listeners: Set<OnProgress>;
  last?: string;
}

/** Merges concurrent calls with the same key into one piece of work, and reports its progress to each of them. */
export class JoinedWork<T = void> {
  readonly #work = new Map<string, Work<T>>();

  /** A call that joins running work gets its last line first. */
  run(key: string, onProgress: OnProgress | undefined, begin: (onProgress: OnProgress) => Promise<T>): Promise<T> {
    return join(this.#work.get(key) ?? this.#begin(key, begin), onProgress);
  }

  /** Begins when running work with that key has ended, failed or not, and reports the progress of both. `hasWaited`: there was some. */
  async runAfter(
    key: string,
    onProgress: OnProgress | undefined,
    begin: (onProgress: OnProgress, hasWaited: boolean) => Promise<T>,
  ): Promise<T> {
    let hasWaited = false;
    for (let others = this.#work.get(key); others; others = this.#work.get(key)) {
      hasWaited = true;
      await join(others, onProgress).catch(() => {});
    }
    return this.run(key, onProgress, (tell) => begin(tell, hasWaited));
  }

  #begin(key: string, begin: (onProgress: OnProgress) => Promise<T>): Work<T> {
    const begun: Pick<Work<T>, 'listeners' | 'last'> = { listeners: new Set() };
    const result = begin((line) => {
      begun.last = line;
      for (const listener of begun.listeners) listener(line);
    }).finally(() => this.#work.delete(key));
    const work = Object.assign(begun, { result });
    this.#work.set(key, work);
    return work;
  }
}

function join<T>({ result, listeners, last }: Work<T>, onProgress: OnProgress | undefined): Promise<T> {
  if (onProgress) {
    listeners.add(onProgress);
    if (last !== undefined) onProgress(last);
  }
  return result;
}
