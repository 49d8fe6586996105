import { type Clock, monotonicClock } from '../clock.ts';
import { isReported } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { SeldomLog } from '../seldom-log.ts';

/** The result of a run. `inMs`: the next run starts after this delay at the latest; absent: at the usual tick. */
export interface NextRun {
  inMs?: number;
}

const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 10_000;

/**
 * Calls `runOnce` at every `wake()`, after the delay the last run asked for, and at a slow tick.
 * Guarantees: runs never overlap; a wake during a run leads to one more run right after it; an error is logged, the same one
 * once a minute, never thrown, and delays the next run by a growing backoff (100 ms … 10 s) that a wake does not shorten, nor the pause between
 * runs, if there is one. Delays are measured with the monotonic clock, so a jump of the wall clock neither stalls a loop nor
 * makes it spin.
 */
export class Loop {
  readonly #name: string;
  readonly #tickMs: number;
  readonly #body: () => Promise<NextRun | undefined>;
  readonly #log: SeldomLog;
  readonly #clock: Clock;
  readonly #pauseMs: () => number;
  readonly #subscribe: (wake: () => void) => readonly (() => void)[];
  #unsubscribes: readonly (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #begunAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #isWoken = false;
  #isStopped = true;
  #failures = 0;
  #backoffUntil = Number.NEGATIVE_INFINITY;

  /**
   * `clock` must be monotonic. `pauseMs`: how long after the begin of a run a wake has the next one begin at the earliest.
   * `subscribe`: called at the start with a function that wakes the loop; what it returns is called at the end.
   */
  constructor(options: {
    name: string;
    tickMs: number;
    logger: Logger;
    runOnce: () => Promise<NextRun | undefined>;
    clock?: Clock;
    pauseMs?: () => number;
    subscribe?: (wake: () => void) => readonly (() => void)[];
  }) {
    this.#name = options.name;
    this.#tickMs = options.tickMs;
    this.#body = options.runOnce;
    this.#log = new SeldomLog(options.logger);
    this.#clock = options.clock ?? monotonicClock;
    this.#pauseMs = options.pauseMs ?? (() => 0);
    this.#subscribe = options.subscribe ?? (() => []);
  }

  start(): void {
    this.#isStopped = false;
    this.#unsubscribes = this.#subscribe(() => this.wake());
    this.wake();
  }

  wake(): void {
    if (this.#isStopped) return;
    if (this.#running) {
      this.#isWoken = true;
      return;
    }
    const waitMs = Math.max(this.#backoffUntil, this.#begunAt + this.#pauseMs()) - this.#clock.now();
    if (waitMs > 0) {
      this.#runIn(waitMs);
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.#runSoon().finally(() => {
      this.#running = undefined;
      if (this.#isStopped) return;
      if (this.#isWoken) this.wake();
    });
  }

  /** Begins a run when the current callback is done: hints arrive together, and the run sees all of them. */
  async #runSoon(): Promise<void> {
    await undefined;
    if (!this.#isStopped) await this.runOnce();
  }

  /** Runs at once, without the backoff of earlier failures: what they failed for is there again. */
  retry(): void {
    this.#failures = 0;
    this.#backoffUntil = Number.NEGATIVE_INFINITY;
    this.wake();
  }

  /** One run, awaited. Tests may call it on a loop that was never started. */
  async runOnce(): Promise<void> {
    this.#isWoken = false;
    this.#begunAt = this.#clock.now();
    let next: NextRun | undefined;
    try {
      next = await this.#body();
      this.#failures = 0;
    } catch (error) {
      next = { inMs: this.#backOff(error) };
    }
    if (this.#isStopped) return;
    this.#runIn(Math.min(Math.max(0, next?.inMs ?? this.#tickMs), this.#tickMs));
  }

  /** Resolves when the run in progress, if any, has ended; no other run starts. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const unsubscribe of this.#unsubscribes) unsubscribe();
    clearTimeout(this.#timer);
    await this.#running;
    this.#log.close();
  }

  /** Logs the failure and returns the delay before the next run, ms. */
  #backOff(error: unknown): number {
    const backoffMs = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#backoffUntil = this.#clock.now() + backoffMs;
    const fields = { loop: this.#name, failures: this.#failures, err: error };
    if (!isReported(error)) this.#log.error(fields, 'loop failed');
    return backoffMs;
  }

  #runIn(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), delayMs);
  }
}
