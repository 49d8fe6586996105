import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';

/** At least this long between two readings, however many hints come. */
const MIN_PAUSE_MS = 200;
/** What no hint tells of (jobs that pass within one process) is seen this late. */
const MAX_PAUSE_MS = 1_000;

/** Answers the text of the present, or undefined when what it is about is gone. */
export type ReadSnapshot = () => Promise<string | undefined>;

/**
 * The present state of one thing, for all who watch it: read once for all of them, after hints at once and otherwise each
 * second, and told only when it changed. Nothing is read while nobody watches.
 */
export class Feed {
  readonly #read: ReadSnapshot;
  readonly #logger: Logger;
  readonly #watchers = new Set<() => void>();
  #text: string | undefined;
  #hasEnded = false;
  #timer: NodeJS.Timeout | undefined;
  #readAt = 0;
  #isReading = false;

  constructor(options: { read: ReadSnapshot; logger: Logger }) {
    this.#read = options.read;
    this.#logger = options.logger;
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Something may have changed. */
  hint(): void {
    if (!this.isWatched || this.#isReading) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#refresh(), Math.max(0, this.#readAt + MIN_PAUSE_MS - Date.now()));
  }

  /**
   * The newest text each time it changed, beginning with the present one; undefined after `quietMs` without a change. Who
   * takes slowly misses what lay between. Ends with `signal`, and when what it is about is gone.
   */
  async *watch(signal: AbortSignal, quietMs: number): AsyncGenerator<string | undefined> {
    let told: string | undefined;
    let wake = (): void => {};
    const onChange = () => wake();
    this.#watchers.add(onChange);
    signal.addEventListener('abort', onChange);
    if (this.#watchers.size === 1) void this.#refresh();
    try {
      while (!signal.aborted && !this.#hasEnded) {
        if (this.#text !== undefined && this.#text !== told) {
          told = this.#text;
          yield told;
          continue;
        }
        let timer: NodeJS.Timeout | undefined;
        const isQuiet = await new Promise<boolean>((resolve) => {
          wake = () => resolve(false);
          timer = setTimeout(() => resolve(true), quietMs);
        });
        clearTimeout(timer);
        if (isQuiet) yield undefined;
      }
    } finally {
      signal.removeEventListener('abort', onChange);
      this.#watchers.delete(onChange);
      if (!this.isWatched) {
        clearTimeout(this.#timer);
        this.#text = undefined;
      }
    }
  }

  async #refresh(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      const text = await this.#read();
      this.#hasEnded = text === undefined;
      if (text !== this.#text) {
        this.#text = text;
        for (const tell of this.#watchers) tell();
      }
    } catch (error) {
      this.#logger.warn({ err: error }, `a live view could not be read: ${messageOf(error)}`);
    }
    this.#isReading = false;
    this.#readAt = Date.now();
    clearTimeout(this.#timer);
    if (this.isWatched && !this.#hasEnded) this.#timer = setTimeout(() => void this.#refresh(), MAX_PAUSE_MS);
  }
}
