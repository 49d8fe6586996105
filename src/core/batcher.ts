/**
 * Batches concurrent calls: `flush` gets them together. A batch never waits to grow: with a free lane, the calls of the
 * current event-loop turn are flushed at once; while all lanes are busy, calls gather until one is free. If a batch fails
 * because of one of its calls (`isCallFault`), each call is retried alone, so that a bad one cannot fail the others. Any
 * other failure (a lost connection, say) fails the whole batch.
 */
export class Batcher<In, Out> {
  readonly #flush: (calls: readonly In[], lane: number) => Promise<readonly Out[]>;
  readonly #isCallFault: (error: unknown) => boolean;
  readonly #maxSize: number;
  readonly #freeLanes: number[];
  #waiting: Entry<In, Out>[] = [];
  #isScheduled = false;

  /** `lanes`: how many batches may be in flight at once. `flush` returns one result per call, in the same order. */
  constructor(options: {
    lanes: number;
    maxSize: number;
    isCallFault: (error: unknown) => boolean;
    flush: (calls: readonly In[], lane: number) => Promise<readonly Out[]>;
  }) {
    this.#isCallFault = options.isCallFault;
    this.#flush = options.flush;
    this.#maxSize = options.maxSize;
    this.#freeLanes = Array.from({ length: options.lanes }, (_, lane) => options.lanes - 1 - lane);
  }

  run(call: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ call, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#freeLanes.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      while (this.#waiting.length > 0 && this.#freeLanes.length > 0) void this.#runBatch(this.#freeLanes.pop()!);
    });
  }

  async #runBatch(lane: number): Promise<void> {
    const batch = this.#waiting.splice(0, this.#maxSize);
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
      this.#freeLanes.push(lane);
      if (this.#waiting.length > 0) this.#schedule();
    }
  }

  async #runOneByOne(batch: Entry<In, Out>[], lane: number): Promise<void> {
    for (const entry of batch) {
      try {
        const [result] = await this.#flush([entry.call], lane);
        entry.resolve(result!);
      } catch (error) {
        entry.reject(error);
      }
    }
  }
}

interface Entry<In, Out> {
  call: In;
  resolve: (out: Out) => void;
  reject: (error: unknown) => void;
}
