import { type Clock, monotonicClock } from './clock.ts';
import type { Failure } from './errors.ts';

interface Waiter {
  bytes: number;
  sinceMs: number;
  grant: (reservation: ByteReservation) => void;
  refuse: (error: unknown) => void;
}

/** Bytes taken from a budget. They return to it once, however often `release` is called. */
export class ByteReservation {
  /** How long it waited for room. */
  readonly waitedMs: number;
  readonly #giveBack: (bytes: number) => void;
  #bytes: number;
  #kept: Promise<unknown> | undefined;

  constructor(bytes: number, waitedMs: number, giveBack: (bytes: number) => void) {
    this.#bytes = bytes;
    this.waitedMs = waitedMs;
    this.#giveBack = giveBack;
  }

  /** Gives back what is beyond `bytes`; never takes more. */
  shrinkTo(bytes: number): void {
    if (bytes >= this.#bytes) return;
    const excess = this.#bytes - bytes;
    this.#bytes = bytes;
    this.#giveBack(excess);
  }

  /** Puts off the release until `work` has settled: it still holds the bytes, although nobody waits for it. */
  keepFor(work: Promise<unknown>): void {
    this.#kept = Promise.allSettled([this.#kept, work]);
  }

  release(): void {
    if (this.#kept) void this.#kept.then(() => this.shrinkTo(0));
    else this.shrinkTo(0);
  }
}

/**
 * Bounds the bytes that are in memory at once. What does not fit waits in FIFO order, and nothing passes it: a large
 * reservation is never starved by small ones. One that exceeds the whole budget is granted once nothing else is reserved.
 */
export class ByteBudget {
  readonly #limitBytes: number;
  readonly #maxWaiting: number;
  readonly #timeoutMs: number;
  readonly #refusal: () => Failure;
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiter>();
  readonly #giveBack = (bytes: number) => {
    this.#usedBytes -= bytes;
    if (this.#waiting.size > 0) this.#grantWaiting();
  };
  #usedBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * `maxWaiting`: how many may wait; more are refused at once. `timeoutMs`: how long each may wait. `refusal`: what both
   * are refused with.
   */
  constructor(options: {
    limitBytes: number;
    maxWaiting: number;
    timeoutMs: number;
    refusal: () => Failure;
    clock?: Clock;
  }) {
    this.#limitBytes = options.limitBytes;
    this.#maxWaiting = options.maxWaiting;
    this.#timeoutMs = options.timeoutMs;
    this.#refusal = options.refusal;
    this.#clock = options.clock ?? monotonicClock;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Reserves at once; undefined when there is no room or others wait. */
  tryReserve(bytes: number): ByteReservation | undefined {
    return this.#waiting.size === 0 && this.#fits(bytes) ? this.#take(bytes, 0) : undefined;
  }

  /** Waits for room; rejects with the refusal. `cancel` ends a wait that is no longer needed in the same way. */
  reserve(bytes: number): { granted: Promise<ByteReservation>; cancel: () => void } {
    const ready = this.tryReserve(bytes);
    if (ready) return { granted: Promise.resolve(ready), cancel: () => {} };
    if (this.#waiting.size >= this.#maxWaiting) return { granted: Promise.reject(this.#refusal()), cancel: () => {} };
    const { promise, resolve, reject } = Promise.withResolvers<ByteReservation>();
    const waiter = { bytes, sinceMs: this.#clock.now(), grant: resolve, refuse: reject };
    this.#waiting.add(waiter);
    this.#armTimer();
    return { granted: promise, cancel: () => this.#withdraw(waiter) };
  }

  #fits(bytes: number): boolean {
    return this.#usedBytes === 0 || this.#usedBytes + bytes <= this.#limitBytes;
  }

  #take(bytes: number, waitedMs: number): ByteReservation {
    this.#usedBytes += bytes;
    return new ByteReservation(bytes, waitedMs, this.#giveBack);
  }

  #grantWaiting(): void {
    for (const waiter of this.#waiting) {
      if (!this.#fits(waiter.bytes)) return;
      this.#waiting.delete(waiter);
      waiter.grant(this.#take(waiter.bytes, this.#clock.now() - waiter.sinceMs));
    }
  }

  #withdraw(waiter: Waiter): void {
    if (!this.#waiting.delete(waiter)) return;
    waiter.refuse(this.#refusal());
    this.#grantWaiting(); // it may have been the one that did not fit
  }

  /** One timer, for the first: it waits longest. */
  #armTimer(): void {
    const [first] = this.#waiting;
    if (this.#timer !== undefined || first === undefined) return;
    const remainingMs = first.sinceMs + this.#timeoutMs - this.#clock.now();
    this.#timer = setTimeout(() => this.#refuseOverdue(), Math.max(1, remainingMs)).unref();
  }

  #refuseOverdue(): void {
    this.#timer = undefined;
    const latest = this.#clock.now() - this.#timeoutMs;
    for (const waiter of this.#waiting) {
      if (waiter.sinceMs > latest) break;
      this.#withdraw(waiter);
    }
    this.#armTimer();
  }
}
