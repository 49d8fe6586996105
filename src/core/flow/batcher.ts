import { type Clock, monotonicClock } from '../clock.ts';

/**
 * Batches concurrent calls: `flush` gets them together. A batch never waits to grow: with a free lane, the calls of the
 * current event-loop turn are flushed at once; while all lanes are busy, calls gather until one is free. If a batch fails
 * because of one of its calls (`isCallFault`), each call is retried alone, so that a bad one cannot fail the others. Any
 * other failure (a lost connection, say) fails the whole batch.
 *
 * With a `timeout`, a call fails when it has waited for so long and no batch has ended meanwhile, or was flushed so long ago: as long
 * as batches end, the turn of each call comes. One that still waits for a lane is withdrawn and never flushed; one that was flushed may take
 * effect later.
 */
export class Batcher<In, Out> {
  readonly #flush: (calls: readonly In[], lane: number) => Promise<readonly Out[]>;
  readonly #isCallFault: (error: unknown) => boolean;
  readonly #maxSize: number;
  readonly #bytes: { max: number; of: (call: In) => number } | undefined;
  readonly #timeout: { ms: number; error: (wasFlushed: boolean) => Error } | undefined;
  readonly #clock: Clock;
  readonly #gatherAbove: number;
  readonly #freeLanes: number[];
  /** By lane. */
  readonly #inFlight: (readonly Entry<In, Out>[])[];
  #waiting: Entry<In, Out>[] = [];
  #isScheduled = false;
  /** When the last batch ended. */
  #endedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #timerDueMs = Number.POSITIVE_INFINITY;

  /**
   * `lanes`: how many batches may be in flight at once. A batch ends at `maxSize` calls, or before the call with which it
   * would exceed `bytes.max`; it has at least one. `flush` returns one result per call, in the same order.
   *
   * `gatherAbove`: while more calls than this are in flight, a free lane waits for a full batch. Under load, one batch of
   * twice the size costs less than two.
   */
  constructor(options: {
    lanes: number;
    maxSize: number;
    gatherAbove?: number;
    bytes?: { max: number; of: (call: In) => number };
    timeout?: { ms: number; error: (wasFlushed: boolean) => Error };
    clock?: Clock;
    isCallFault: (error: unknown) => boolean;
    flush: (calls: readonly In[], lane: number) => Promise<readonly Out[]>;
  }) {
    this.#isCallFault = options.isCallFault;
    this.#flush = options.flush;
    this.#maxSize = options.maxSize;
    this.#gatherAbove = options.gatherAbove ?? Number.POSITIVE_INFINITY;
    this.#bytes = options.bytes;
    this.#timeout = options.timeout;
    this.#clock = options.clock ?? monotonicClock;
    this.#inFlight = Array.from({ length: options.lanes }, () => []);
    this.#freeLanes = Array.from({ length: options.lanes }, (_, lane) => options.lanes - 1 - lane);
  }

  run(call: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      const sinceMs = this.#timeout ? this.#clock.now() : 0;
      this.#waiting.push({ call, sinceMs, resolve, reject });
      this.#schedule();
      if (this.#timeout) this.#armTimer(sinceMs + this.#timeout.ms);
    });
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#mayFlush()) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      while (this.#mayFlush()) void this.#runBatch(this.#freeLanes.pop()!);
    });
  }

  #mayFlush(): boolean {
    if (this.#waiting.length === 0 || this.#freeLanes.length === 0) return false;
    if (this.#waiting.length >= this.#maxSize) return true;
    let flushed = 0;
    for (const batch of this.#inFlight) flushed += batch.length;
    return flushed <= this.#gatherAbove;
  }

  async #runBatch(lane: number): Promise<void> {
    const batch = this.#waiting.splice(0, this.#countOfBatch());
    this.#inFlight[lane] = batch;
    if (this.#timeout) for (const entry of batch) entry.sinceMs = this.#clock.now();
    try {
      const results = await this.#flush(
        batch.map((entry) => entry.call),
        lane,
      );
      for (let i = 0; i < batch.length; i++) batch[i]!.resolve(results[i]!);
    } catch (error) {
      if (batch.length > 1 && this.#isCallFault(error)) await this.#runOneByOne(batch, lane);
      else for (const entry of batch) entry.reject(error);
    } finally {
      this.#inFlight[lane] = [];
      if (this.#timeout) this.#endedAt = this.#clock.now();
      this.#freeLanes.push(lane);
      this.#schedule();
    }
  }

  #countOfBatch(): number {
    const atMost = Math.min(this.#maxSize, this.#waiting.length);
    if (!this.#bytes) return atMost;
    let bytes = 0;
    for (let count = 0; count < atMost; count++) {
      bytes += this.#bytes.of(this.#waiting[count]!.call);
      if (bytes > this.#bytes.max && count > 0) return count;
    }
    return atMost;
  }

  async #runOneByOne(batch: Entry<In, Out>[], lane: number): Promise<void> {
    for (const entry of batch) {
      if (this.#timeout && entry.sinceMs + this.#timeout.ms <= this.#clock.now()) continue;
      try {
        const [result] = await this.#flush([entry.call], lane);
        entry.resolve(result!);
      } catch (error) {
        entry.reject(error);
      }
    }
  }

  /** One timer for all calls: it fires when the first may be overdue, and costs a call next to nothing. */
  #armTimer(dueMs: number): void {
    if (dueMs >= this.#timerDueMs) return;
    clearTimeout(this.#timer);
    this.#timerDueMs = dueMs;
    this.#timer = setTimeout(() => this.#failOverdue(), Math.max(1, dueMs - this.#clock.now())).unref();
  }

  #failOverdue(): void {
    const { ms, error } = this.#timeout!;
    const now = this.#clock.now();
    this.#timerDueMs = Number.POSITIVE_INFINITY;
    const isOverdue = (entry: Entry<In, Out>, dueMs: number, wasFlushed: boolean) => {
      if (dueMs <= now) entry.reject(error(wasFlushed));
      else this.#armTimer(dueMs);
      return dueMs <= now;
    };
    for (const entry of this.#inFlight.flat()) isOverdue(entry, entry.sinceMs + ms, true);
    this.#waiting = this.#waiting.filter(
      (entry) => !isOverdue(entry, Math.max(entry.sinceMs, this.#endedAt) + ms, false),
    );
  }
}

interface Entry<In, Out> {
  call: In;
  /** When it began to wait, or was flushed; with a timeout. */
  sinceMs: number;
  resolve: (out: Out) => void;
  reject: (error: unknown) => void;
}
