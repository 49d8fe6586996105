import { messageOf } from './errors.ts';
import type { Logger } from './logger.ts';

/** What a loop's body answers: when it wants to run again at the latest, or nothing for "at the usual tick". */
export interface NextRun {
  atMs?: number;
}

/**
 * Runs `runOnce` now and then: at every `wake()`, at the time the last run asked for, and at a slow tick.
 * Guarantees: never two runs at once; a wake during a run leads to one more run right after it; an error is logged,
 * never thrown, and delays the next run by a growing pause (100 ms … 10 s) that a wake does not shorten.
 */
export class Loop {
  readonly #name: string;
  readonly #tickMs: number;
  readonly #body: () => Promise<NextRun | undefined>;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isStopped = true;
  #failures = 0;
  #pausedUntil = 0;

  constructor(options: {
    name: string;
    tickMs: number;
    logger: Logger;
    runOnce: () => Promise<NextRun | undefined>;
  }) {
    this.#name = options.name;
    this.#tickMs = options.tickMs;
    this.#body = options.runOnce;
    this.#logger = options.logger;
  }

  start(): void {
    this.#isStopped = false;
    this.wake();
  }

  wake(): void {
    if (this.#isStopped) return;
    if (this.#running) {
      this.#isWoken = true;
      return;
    }
    const pauseMs = this.#pausedUntil - Date.now();
    if (pauseMs > 0) {
      this.#runIn(pauseMs);
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.runOnce().finally(() => {
      this.#running = undefined;
      if (this.#isStopped) return;
      if (this.#isWoken) this.wake();
    });
  }

  /** One run, awaited. The loop itself uses it; tests may call it on a loop that was never started. */
  async runOnce(): Promise<void> {
    this.#isWoken = false;
    let next: NextRun | undefined;
    try {
      next = await this.#body();
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      const pauseMs = Math.min(10_000, 100 * 2 ** Math.min(this.#failures - 1, 10));
      this.#pausedUntil = Date.now() + pauseMs;
      this.#logger.error(
        { loop: this.#name, failures: this.#failures, err: error },
        `loop failed: ${messageOf(error)}`,
      );
      next = { atMs: this.#pausedUntil };
    }
    if (this.#isStopped) return;
    const untilNext = next?.atMs === undefined ? this.#tickMs : Math.max(0, next.atMs - Date.now());
    this.#runIn(Math.min(untilNext, this.#tickMs));
  }

  /** Resolves when the run in progress, if any, has ended; no further one starts. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #runIn(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), delayMs);
  }
}
