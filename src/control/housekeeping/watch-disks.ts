import { type Clock, monotonicClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import { withTimeout } from '../../core/flow/with-timeout.ts';
import type { Logger } from '../../core/logger.ts';
import type { Db } from '../../db/pool.ts';
import { listDisks, type WorkloadDisk } from '../../domain/workers/list-disks.ts';
import type { DiskMeter } from '../../runtimes/runtime.ts';
import { type Because, because } from '../../scaling/because.ts';

/** How soon a disk is measured again, at the earliest. */
const TICK_MS = 30_000;
/**
 * Measuring reads every directory entry: the pause after it is this many times as long. It is each workload's own, so that one
 * with millions of files delays only its own next measurement.
 */
const REST_FACTOR = 10;
const MAX_AT_ONCE = 4;
/** The most that a workload may write, in units of its disk: programs cannot tell to the byte what they write. */
const TOLERANCE = 1.1;
const GIBIBYTE = 2 ** 30;

interface Known {
  /** When it is due again; infinite while it waits for its turn or is measured. */
  dueAt: number;
  /** The last measurement failed, which was logged. */
  hasFailed: boolean;
}

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
  /** By workload, from its first measurement until it is gone. */
  #known = new Map<string, Known>();
  #inProgress = 0;
  #isStopped = false;

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
    this.#isStopped = false;
    this.#loop.start();
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#loop.stop();
  }

  /** Measures what is due, and waits for it, but not longer than a tick. */
  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun> {
    const disks = await listDisks(this.#deps.pool);
    this.#known = new Map(disks.map(({ id }) => [id, this.#known.get(id) ?? { dueAt: 0, hasFailed: false }]));
    const now = this.#monotonic.now();
    const due = disks.filter(({ id }) => this.#known.get(id)!.dueAt <= now);
    for (const { id } of due) this.#known.get(id)!.dueAt = Number.POSITIVE_INFINITY;
    const queue = due.values(); // shared by the lanes
    const lanes = Array.from({ length: Math.max(1, MAX_AT_ONCE - this.#inProgress) }, () => this.#measureAll(queue));
    await withTimeout(Promise.all(lanes), TICK_MS, () => new Error('slow')).catch(() => {}); // those continue
    return { inMs: TICK_MS };
  }

  async #measureAll(queue: Iterable<WorkloadDisk>): Promise<void> {
    this.#inProgress += 1;
    for (const disk of queue) await this.#check(disk);
    this.#inProgress -= 1;
  }

  async #check(disk: WorkloadDisk): Promise<void> {
    const startedAt = this.#monotonic.now();
    const usedBytes = this.#isStopped ? null : await this.#measure(disk);
    const now = this.#monotonic.now();
    const known = this.#known.get(disk.id);
    if (known) known.dueAt = now + (now - startedAt) * REST_FACTOR;
    const { diskGb } = disk;
    if (this.#isStopped || usedBytes === null || usedBytes <= diskGb * TOLERANCE * GIBIBYTE) return;
    this.#deps.logger.warn({ ...nameOf(disk), usedBytes, sizeGb: diskGb }, 'workload over its disk');
    this.#deps.end(disk, because('OVER_DISK', { usedGb: usedBytes / GIBIBYTE, diskGb }));
  }

  async #measure(disk: WorkloadDisk): Promise<number | null> {
    const known = this.#known.get(disk.id);
    try {
      const usedBytes = await this.#deps.disks.usedBytes(disk.id);
      if (known) known.hasFailed = false;
      return usedBytes;
    } catch (error) {
      if (known?.hasFailed === false) {
        known.hasFailed = true;
        this.#deps.logger.warn({ ...nameOf(disk), err: error }, `measuring a disk failed: ${messageOf(error)}`);
      }
      return null;
    }
  }
}

function nameOf({ kind, id }: WorkloadDisk): { podId: string } | { workerId: string } {
  return kind === 'pod' ? { podId: id } : { workerId: id };
}
