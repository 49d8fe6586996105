import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';

/** Average pause between two reads, however many hints arrive. */
const PAUSE_MS = 200;
/** Consecutive reads without a pause after a quiet time, so that a start's stages are shown as they come. */
const AT_ONCE = 5;
/** Maximum pause: some changes publish no hint, such as jobs that pass within one process. */
const MAX_PAUSE_MS = 1_000;

/** Resolves with the current state as text, or undefined once the subject is gone. */
export type ReadSnapshot = () => Promise<string | undefined>;

interface Watcher {
  /** Reads that had begun before it came: they may not have seen what it did just before. */
  readonly readsBefore: number;
  hasText: boolean;
  wake: () => void;
}

/**
 * The current state of one subject, for all its watchers. It is read once for all of them, after hints and at least every second, and sent
 * only when it changed. A watcher never gets a state from before it subscribed. Without watchers, nothing is read.
 */
export class Feed {
  readonly #log: SeldomLog;
  readonly #deps: { read: ReadSnapshot; logger: Logger; clock: Clock };
  readonly #watchers = new Set<Watcher>();
  #text: string | undefined;
  /** How many reads have begun, and the number of the one that brought the text. */
  #reads = 0;
  #readOfText = 0;
  #hasEnded = false;
  #timer: NodeJS.Timeout | undefined;
  /** When the reads so far would have ended, had each waited for its pause. */
  #pacedUntilMs = Number.NEGATIVE_INFINITY;
  #isReading = false;
  #isHintedMeanwhile = false;

  /** `clock` must be monotonic. */
  constructor(deps: { read: ReadSnapshot; logger: Logger; clock: Clock }) {
    this.#deps = deps;
    this.#log = new SeldomLog(deps.logger);
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Something may have changed: reads again soon. */
  hint(): void {
    if (!this.isWatched) return;
    if (this.#isReading) {
      this.#isHintedMeanwhile = true; // the read may have missed it
      return;
    }
    const pauseMs = Math.max(0, this.#pacedUntilMs - (AT_ONCE - 1) * PAUSE_MS - this.#deps.clock.now());
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#refresh(), pauseMs);
  }

  /**
   * Yields the current text, then each newer one; undefined after `quietMs` without a change. A slow consumer skips
   * intermediate texts. Ends when `signal` aborts or the subject is gone.
   */
  async *watch(signal: AbortSignal, quietMs: number): AsyncGenerator<string | undefined> {
    const watcher: Watcher = { readsBefore: this.#reads, hasText: false, wake: () => {} };
    const onAbort = () => watcher.wake();
    let sent: string | undefined;
    this.#watchers.add(watcher);
    signal.addEventListener('abort', onAbort);
    this.hint();
    try {
      while (!signal.aborted && !this.#hasEnded) {
        if (this.#text !== undefined && this.#text !== sent && this.#readOfText > watcher.readsBefore) {
          watcher.hasText = true;
          sent = this.#text;
          yield sent;
          continue;
        }
        let timer: NodeJS.Timeout | undefined;
        const isQuiet = await new Promise<boolean>((resolve) => {
          watcher.wake = () => resolve(false);
          timer = setTimeout(() => resolve(true), quietMs);
        });
        clearTimeout(timer);
        if (isQuiet) yield undefined;
      }
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#leave(watcher);
    }
  }

  #leave(watcher: Watcher): void {
    this.#watchers.delete(watcher);
    if (this.isWatched) return;
    clearTimeout(this.#timer);
    this.#text = undefined;
  }

  async #refresh(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#isHintedMeanwhile = false;
    this.#pacedUntilMs = Math.max(this.#pacedUntilMs, this.#deps.clock.now()) + PAUSE_MS;
    try {
      this.#reads += 1;
      const text = await this.#deps.read();
      this.#hasEnded = text === undefined;
      const isNew = text !== this.#text;
      this.#text = text;
      this.#readOfText = this.#reads;
      for (const watcher of this.#watchers) if (isNew || !watcher.hasText) watcher.wake();
    } catch (error) {
      this.#log.warn({ err: error }, 'cannot read a live view');
    }
    this.#isReading = false;
    clearTimeout(this.#timer);
    if (!this.isWatched || this.#hasEnded) return;
    if (this.#isHintedMeanwhile) this.hint();
    else this.#timer = setTimeout(() => void this.#refresh(), MAX_PAUSE_MS);
  }
}
