import { type Clock, monotonicClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Db } from '../../db/pool.ts';
import { type Because, because } from '../../domain/decisions/because.ts';
import { listDisks, type WorkloadDisk } from '../../domain/workers/list-disks.ts';
import type { DiskMeter } from '../../runtimes/runtime.ts';

/** How soon a disk is measured again, at the earliest. */
const TICK_MS = 30_000;
/** Measuring reads every directory entry: the pause after it is this many times as long, so it takes 5 % of the disk's time. */
const REST_FACTOR = 20;
/** What a workload may write, in units of its disk: programs cannot tell to the byte what they write. */
const TOLERANCE = 1.1;
const GIBIBYTE = 2 ** 30;

interface Deps {
  pool: Db;
  logger: Logger;
  disks: DiskMeter;
  /** Ends a workload's container, with the reason in its record and its log. */
  end: (disk: WorkloadDisk, why: Because) => void;
}

/** Ends workloads that write more than their disk and a tenth, where the engine cannot limit it. */
export class DiskWatch {
  readonly #deps: Deps;
  readonly #monotonic: Clock;
  readonly #loop: Loop;
  /** Workloads that could not be measured, so that each is logged once. */
  #unmeasured = new Set<string>();

  constructor({ monotonic = monotonicClock, ...deps }: Deps & { monotonic?: Clock }) {
    this.#deps = deps;
    this.#monotonic = monotonic;
    this.#loop = new Loop({
      name: 'watch-disks',
      tickMs: TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun> {
    const startedAt = this.#monotonic.now();
    const disks = await listDisks(this.#deps.pool);
    const ids = new Set(disks.map(({ id }) => id));
    this.#unmeasured = new Set([...this.#unmeasured].filter((id) => ids.has(id)));
    for (const disk of disks) await this.#check(disk);
    return { inMs: Math.max(TICK_MS, (this.#monotonic.now() - startedAt) * REST_FACTOR) };
  }

  async #check(disk: WorkloadDisk): Promise<void> {
    const usedBytes = await this.#measure(disk);
    if (usedBytes === null || usedBytes <= disk.diskGb * TOLERANCE * GIBIBYTE) return;
    const { id, kind, diskGb } = disk;
    const name = kind === 'pod' ? { podId: id } : { workerId: id };
    this.#deps.logger.warn({ ...name, usedBytes, sizeGb: diskGb }, 'workload over its disk');
    this.#deps.end(disk, because('OVER_DISK', { usedGb: usedBytes / GIBIBYTE, diskGb }));
  }

  async #measure({ id, kind }: WorkloadDisk): Promise<number | null> {
    try {
      const usedBytes = await this.#deps.disks.usedBytes(id);
      this.#unmeasured.delete(id);
      return usedBytes;
    } catch (error) {
      if (!this.#unmeasured.has(id)) {
        this.#unmeasured.add(id);
        const name = kind === 'pod' ? { podId: id } : { workerId: id };
        this.#deps.logger.warn({ ...name, err: error }, `measuring a disk failed: ${messageOf(error)}`);
      }
      return null;
    }
  }
}
