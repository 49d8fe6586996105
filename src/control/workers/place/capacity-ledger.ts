import { type Clock, monotonicClock } from '../../../core/clock.ts';
import type { Pool } from '../../../db/pool.ts';
import { cpuPlacesOf } from '../../../domain/catalog/availability.ts';
import { nameFoundTypes } from '../../../domain/catalog/found-types.ts';
import { type GpusInUse, subtractInUse } from '../../../domain/catalog/gpus-in-use.ts';
import { listCpusInUse, listGpusInUse } from '../../../domain/workers/worker-lifecycle.ts';
import type { Capacity, Runtime } from '../../../runtimes/runtime.ts';
import { type CpuPlace, type CpusInUse, cpuCapacities } from '../../../scaling/cpu-slots.ts';
import type { PoolCapacity } from '../../../scaling/place-worker.ts';

const CAPACITY_TTL_MS = 10_000;
/** Reading what is in use costs more the more workers there are. A read that is half as old leads to the next one. */
const IN_USE_TTL_MS = 1_000;

interface InUse {
  byWorkers: readonly GpusInUse[];
  byPods: readonly GpusInUse[];
  readAt: number;
}

/** Tracks free GPUs: what the runtime has, less what workers and pods were given. Both are placed out of this ledger. */
export class CapacityLedger {
  readonly #deps: { pool: Pool; runtime: Runtime };
  readonly #monotonic: Clock;
  /** Given away, but not in the table yet. */
  readonly #promised = new Map<string, GpusInUse>();
  /** The table as last read, and what was written to it since. */
  #inUse: InUse | undefined;
  #settled: GpusInUse[] = [];
  /** Writes since a read began that nobody waits for; undefined while there is none. */
  #settledMeanwhile: GpusInUse[] | undefined;
  #readingAhead: Promise<void> | undefined;
  readonly #promisedCpus = new Map<string, CpusInUse>();
  #capacity: Capacity = { gpus: [], memoryBytes: 0, cpus: 1 };
  #readAt = Number.NEGATIVE_INFINITY;
  #isKnown = false;
  #reading: Promise<void> | undefined;
  /** Counts reads of the runtime's capacity: a read that `forget` overtook is dropped. */
  #reads = 0;

  constructor({ monotonic = monotonicClock, ...deps }: { pool: Pool; runtime: Runtime; monotonic?: Clock }) {
    this.#deps = deps;
    this.#monotonic = monotonic;
  }

  /** The whole machine or cluster, as last read. */
  get machine(): Capacity {
    return this.#capacity;
  }

  /** The runtime's capacity changed: the next `readFree` waits for the new one. */
  forget(): void {
    this.#reads += 1;
    this.#isKnown = false;
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#reading = undefined;
  }

  /**
   * Free GPUs by pool and data center. May be too low: GPUs freed a moment ago count from the next read of the table on, or
   * with `fresh` at once, and a start that is being written down may count twice. Too high only while a pod took some, so a
   * start is checked again when it is written down.
   */
  async readFree({ fresh = false } = {}): Promise<PoolCapacity[]> {
    const now = await this.#refreshCapacity();
    if (!fresh && this.#ageAt(now) >= IN_USE_TTL_MS) await this.#readingAhead;
    const ageMs = this.#ageAt(now);
    const isKnown = !fresh && ageMs < IN_USE_TTL_MS;
    const { byWorkers, byPods } = isKnown ? this.#inUse! : await this.#readInUse(now);
    if (isKnown && ageMs >= IN_USE_TTL_MS / 2) setImmediate(() => void this.#readAhead(now)); // after the start has been sent
    return subtractInUse(this.#capacity.gpus, [...byWorkers, ...byPods, ...this.#settled, ...this.#promised.values()]);
  }

  /** A start is likely or decided, and `readFree` will be called for it: reads the table meanwhile, if that would wait for it. */
  expectStart(): void {
    const now = this.#monotonic.now();
    if (this.#settledMeanwhile === undefined && this.#ageAt(now) >= IN_USE_TTL_MS) {
      this.#readingAhead = this.#readAhead(now);
    }
  }

  /** The next `readFree` reads everything again: a start failed, or a worker found no place. */
  expire(): void {
    this.#readAt = Number.NEGATIVE_INFINITY;
    this.#inUse = undefined;
    this.#settledMeanwhile = undefined;
  }

  /** Reserves GPUs for a workload until `settle`. */
  promise(workloadId: string, allocation: GpusInUse): void {
    this.#promised.set(workloadId, allocation);
  }

  /**
   * Returns the machines by data center, and their free slots (scaling/cpu-slots.ts). Reads the table each time. May be too
   * low: a start that is being written down may count twice.
   */
  async readFreeCpus(): Promise<{ places: readonly CpuPlace[]; capacities: PoolCapacity[] }> {
    await this.#refreshCapacity();
    const promised = [...this.#promisedCpus.values()]; // before the query: what is settled meanwhile may not be in its result
    const used = [...(await listCpusInUse(this.#deps.pool)), ...promised];
    const places = cpuPlacesOf(this.#capacity);
    return { places, capacities: cpuCapacities(places, used) };
  }

  /** Reserves vCPUs for a worker until `settle`. */
  promiseCpu(workloadId: string, allocation: CpusInUse): void {
    this.#promisedCpus.set(workloadId, allocation);
  }

  /**
   * Returns at least what workers other than these hold or were promised: nothing but this process gives GPUs to workers, and
   * what it gives is promised before. Undefined when that is not known, e.g. after a failed start.
   */
  heldByOthers(workerIds: ReadonlySet<string>): GpusInUse[] | undefined {
    if (this.#inUse === undefined) return undefined;
    const promised = [...this.#promised].flatMap(([id, one]) => (workerIds.has(id) ? [] : one));
    return [...this.#inUse.byWorkers, ...this.#settled, ...promised];
  }

  /** Ends a promise before anything was written. */
  withdraw(workloadId: string): void {
    this.#promised.delete(workloadId);
  }

  /** The allocation is in the table now, or not needed any more. */
  settle(workloadId: string): void {
    this.#promisedCpus.delete(workloadId);
    const allocation = this.#promised.get(workloadId);
    if (allocation === undefined) return;
    this.#promised.delete(workloadId);
    this.#settled.push(allocation);
    this.#settledMeanwhile?.push(allocation);
  }

  async #refreshCapacity(): Promise<number> {
    const now = this.#monotonic.now();
    if (now - this.#readAt > CAPACITY_TTL_MS) {
      this.#reading ??= this.#readCapacity(now);
      // The total hardly ever changes, and a job may be waiting: this read is for the next call.
      if (this.#isKnown) this.#reading.catch(() => {});
      else await this.#reading;
    }
    return now;
  }

  /** A row written while the table is read counts twice rather than not at all. */
  async #readInUse(now: number): Promise<InUse> {
    this.#inUse = undefined;
    this.#settled = [];
    this.#settledMeanwhile = undefined;
    this.#inUse = await this.#listInUse(now);
    return this.#inUse;
  }

  async #listInUse(readAt: number): Promise<InUse> {
    const { pool } = this.#deps;
    const [byWorkers, byPods] = await Promise.all([
      listGpusInUse(pool, { of: 'workers' }),
      listGpusInUse(pool, { of: 'pods' }),
    ]);
    return { byWorkers, byPods, readAt };
  }

  #ageAt(now: number): number {
    return now - (this.#inUse?.readAt ?? Number.NEGATIVE_INFINITY);
  }

  /** Reads the table for later calls, unless that is being done. Dropped if another read overtakes it. */
  async #readAhead(now: number): Promise<void> {
    if (this.#settledMeanwhile) return;
    const settled: GpusInUse[] = [];
    this.#settledMeanwhile = settled;
    try {
      const inUse = await this.#listInUse(now);
      if (this.#settledMeanwhile !== settled) return;
      this.#inUse = inUse;
      this.#settled = settled;
    } catch {
      // the next call sees the error, if it lasts
    } finally {
      if (this.#settledMeanwhile === settled) this.#settledMeanwhile = undefined;
    }
  }

  async #readCapacity(now: number): Promise<void> {
    this.#reads += 1;
    const read = this.#reads;
    try {
      const capacity = await this.#deps.runtime.capacity();
      nameFoundTypes(capacity.gpus);
      if (read !== this.#reads) return;
      this.#capacity = capacity;
      this.#readAt = now;
      this.#isKnown = true;
    } finally {
      if (read === this.#reads) this.#reading = undefined;
    }
  }
}
