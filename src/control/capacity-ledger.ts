import type { Pool } from '../db/pool.ts';
import { listGpusInUse } from '../domain/workers/worker-lifecycle.ts';
import type { Capacity, Runtime } from '../runtimes/runtime.ts';
import type { PoolCapacity } from '../scaling/place-worker.ts';

const CAPACITY_TTL_MS = 10_000;

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

  /** What the runtime has changed: the next look asks it. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
  }

  /** Free GPUs by pool and data centre; never more than there are, possibly fewer while a start is being written down. */
  async readFree(now: number): Promise<PoolCapacity[]> {
    if (Math.abs(now - this.#readAt) > CAPACITY_TTL_MS) {
      this.#capacity = await this.#runtime.capacity();
      this.#readAt = now;
    }
    const promised = [...this.#promised.values()].map((entry) => ({ ...entry })); // before the table is read: what is written meanwhile counts twice, not never
    const given: Given[] = [...(await listGpusInUse(this.#pool)), ...promised];
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

  /** Keeps GPUs for a workload until `settle`: its row says so then, or it needs them no more. */
  promise(workloadId: string, given: Given): void {
    this.#promised.set(workloadId, given);
  }

  settle(workloadId: string): void {
    this.#promised.delete(workloadId);
  }
}
