import type { Pool } from '../db/pool.ts';
import { listGpusInUse } from '../domain/workers/worker-lifecycle.ts';
import type { Capacity, Runtime } from '../runtimes/runtime.ts';
import type { PoolCapacity } from '../scaling/place-worker.ts';

const CAPACITY_TTL_MS = 10_000;

/** What the runtime has, less what was given away: workers and pods are placed out of the same ledger. */
export class CapacityLedger {
  readonly #pool: Pool;
  readonly #runtime: Runtime;
  #capacity: Capacity = { gpus: [], memoryBytes: 0, cpus: 1 };
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(options: { pool: Pool; runtime: Runtime }) {
    this.#pool = options.pool;
    this.#runtime = options.runtime;
  }

  /** The whole machine or cluster, as last read. */
  get machine(): { cpus: number; memoryBytes: number } {
    return this.#capacity;
  }

  /** Free GPUs by pool and data centre; the caller takes what it gives away off `free`. */
  async readFree(now: number): Promise<PoolCapacity[]> {
    if (now - this.#readAt > CAPACITY_TTL_MS) {
      this.#capacity = await this.#runtime.capacity();
      this.#readAt = now;
    }
    const used = await listGpusInUse(this.#pool);
    return this.#capacity.gpus.map((gpu) => {
      const inUse =
        used.find((entry) => entry.pool === gpu.pool && entry.dataCenterId === gpu.dataCenterId)?.count ?? 0;
      return { ...gpu, free: gpu.total - inUse };
    });
  }
}
