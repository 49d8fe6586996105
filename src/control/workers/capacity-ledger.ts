import type { Pool } from '../../db/pool.ts';
import { listGpusInUse } from '../../domain/workers/worker-lifecycle.ts';
import type { Capacity, Runtime } from '../../runtimes/runtime.ts';
import type { PoolCapacity } from '../../scaling/place-worker.ts';

const CAPACITY_TTL_MS = 10_000;
/** So old may the list of what is in use be: reading it costs more the more workers there are. */
const GIVEN_TTL_MS = 1_000;

interface Given {
  pool: string | null;
  dataCenterId: string | null;
  count: number;
}

/** What the runtime has, less what was given away: workers and pods are placed out of the same ledger. */
export class CapacityLedger {
  readonly #pool: Pool;
  readonly #runtime: Runtime;
  /** Given away, but not yet written down. */
  readonly #promised = new Map<string, Given>();
  /** What the table said when it was read last, and what was given away and written down since. */
  #given: { readonly rows: readonly Given[]; readonly readAt: number } | undefined;
  #settled: Given[] = [];
  #capacity: Capacity = { gpus: [], memoryBytes: 0, cpus: 1 };
  #readAt = Number.NEGATIVE_INFINITY;
  #isKnown = false;
  #reading: Promise<void> | undefined;
  /** Counts them: one that was overtaken by `forget` has nothing to say. */
  #reads = 0;

  constructor(options: { pool: Pool; runtime: Runtime }) {
    this.#pool = options.pool;
    this.#runtime = options.runtime;
  }

  /** The whole machine or cluster, as last read. */
  get machine(): Capacity {
    return this.#capacity;
  }

  /** What the runtime has changed: the next look waits for what it has now. */
  forget(): void {
    this.#reads += 1;
    this.#isKnown = false;
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#reading = undefined;
  }

  /**
   * Free GPUs by pool and data centre, possibly fewer than there are: what became free a moment ago is in the next look,
   * or in a `fresh` one, and starts that are being written down may count twice. More than there are only while a pod took
   * some: whoever writes a start down looks again.
   */
  async readFree(now: number, { fresh = false } = {}): Promise<PoolCapacity[]> {
    if (Math.abs(now - this.#readAt) > CAPACITY_TTL_MS) {
      this.#reading ??= this.#read(now);
      // What there is in all hardly ever changes, and a job may be waiting: the next look has what is read now.
      if (this.#isKnown) this.#reading.catch(() => {});
      else await this.#reading;
    }
    const known = !fresh && this.#given && Math.abs(now - this.#given.readAt) < GIVEN_TTL_MS;
    const rows = known ? this.#given!.rows : await this.#readGiven(now);
    const given = [...rows, ...this.#settled, ...this.#promised.values()].map((entry) => ({ ...entry }));
    return this.#capacity.gpus.map((gpu) => {
      let free = gpu.total;
      for (const entry of given) {
        if (entry.pool !== gpu.pool || entry.dataCenterId !== gpu.dataCenterId) continue;
        const taken = Math.min(free, entry.count); // what one node has no room for is on the next
        free -= taken;
        entry.count -= taken;
      }
      return { ...gpu, free };
    });
  }

  /** What there is, and what is in use, is asked anew at the next look: a start failed, or somebody waits for more. */
  expire(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#given = undefined;
  }

  /** Keeps GPUs for a workload until `settle`: its row says so then, or it needs them no more. */
  promise(workloadId: string, given: Given): void {
    this.#promised.set(workloadId, given);
  }

  settle(workloadId: string): void {
    const given = this.#promised.get(workloadId);
    if (given === undefined) return;
    this.#promised.delete(workloadId);
    this.#settled.push(given);
  }

  /** What is written down while the table is read counts twice, not never. */
  async #readGiven(now: number): Promise<readonly Given[]> {
    this.#given = undefined;
    this.#settled = [];
    const rows = await listGpusInUse(this.#pool);
    this.#given = { rows, readAt: now };
    return rows;
  }

  async #read(now: number): Promise<void> {
    this.#reads += 1;
    const read = this.#reads;
    try {
      const capacity = await this.#runtime.capacity();
      if (read !== this.#reads) return;
      this.#capacity = capacity;
      this.#readAt = now;
      this.#isKnown = true;
    } finally {
      if (read === this.#reads) this.#reading = undefined;
    }
  }
}
