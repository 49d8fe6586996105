/**
 * Collects the calls that wait at the same moment and hands them to `flush` together.
 * A batch never waits for company: with a free lane the calls of the current turn of the event loop go at once; while
 * all lanes are busy, later calls gather and leave together when the first lane comes back.
 * If a batch fails for a reason that lies in one call (`isCallFault`), each call is tried once alone, so that a poisoned
 * one cannot fail its neighbours; any other failure (a lost connection, say) is everybody's.
 */
export class Batcher<In, Out> {
  readonly #flush: (calls: readonly In[], lane: number) => Promise<readonly Out[]>;
  readonly #isCallFault: (error: unknown) => boolean;
  readonly #maxSize: number;
  readonly #freeLanes: number[];
  #waiting: Entry<In, Out>[] = [];
  #isScheduled = false;

  /** `lanes`: how many batches may be under way at once. `flush` answers one result a call, in the same order. */
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
