import { type Clock, monotonicClock } from '../../core/clock.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import { SeldomLog } from '../../core/seldom-log.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import {
  deleteVolumeRemoval,
  listMeasuredStorage,
  listVolumeRemovals,
  type MeasuredStorage,
  updateVolumeUsage,
} from '../../domain/volumes/measured-storage.ts';
import type { StorageOwner, WorkloadStorage } from '../../runtimes/runtime.ts';
import type { LogCollector } from '../workloads/collect-logs.ts';

const TICK_MS = 60_000;
/** Measuring reads every directory entry: the pause after it is this many times as long, so it takes 2 % of the disk's time. */
const REST_FACTOR = 50;
const GIBIBYTE = 2 ** 30;

interface Deps {
  pool: Pool;
  bus: Bus;
  logger: Logger;
  logs: LogCollector;
  storage: WorkloadStorage;
}

/** Removes the files of deleted volumes and of abandoned uploads, measures what the others hold, and warns when one exceeds its size. */
export class VolumeKeeper {
  readonly #log: SeldomLog;
  readonly #deps: Deps;
  readonly #monotonic: Clock;
  readonly #loop: Loop;
  #measureAt = Number.NEGATIVE_INFINITY;
  /** Storage over its size for which a warning was logged. */
  readonly #overfull = new Set<string>();

  constructor({ monotonic = monotonicClock, ...deps }: Deps & { monotonic?: Clock }) {
    this.#deps = deps;
    this.#log = new SeldomLog(deps.logger);
    this.#monotonic = monotonic;
    this.#loop = new Loop({
      name: 'keep-volumes',
      tickMs: TICK_MS,
      logger: deps.logger,
      runOnce: () => this.#run(),
      subscribe: (wake) => [deps.bus.subscribe('volume', wake)],
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    this.#log.close();
  }

  /** Removes and measures now. */
  runOnce(): Promise<void> {
    this.#measureAt = Number.NEGATIVE_INFINITY;
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun> {
    await this.#removeDeleted();
    const startedAt = this.#monotonic.now();
    if (startedAt < this.#measureAt) return { inMs: this.#measureAt - startedAt };
    for (const storage of await listMeasuredStorage(this.#deps.pool)) await this.#measure(storage);
    const now = this.#monotonic.now();
    const restMs = Math.max(TICK_MS, (now - startedAt) * REST_FACTOR);
    this.#measureAt = now + restMs;
    return { inMs: restMs };
  }

  /** A removal that fails is tried again at the next tick. */
  async #removeDeleted(): Promise<void> {
    const { pool, storage } = this.#deps;
    for (const { id, dataCenterId } of await listVolumeRemovals(pool)) {
      try {
        await storage.remove({ kind: 'volume', dataCenterId, id });
        await deleteVolumeRemoval(pool, id);
      } catch (error) {
        this.#log.warn({ volumeId: id, err: error }, "removing a deleted volume's files failed");
      }
    }
  }

  async #measure(storage: MeasuredStorage): Promise<void> {
    await this.#deps.storage.sweepUploads?.(ownerOf(storage)).catch((error) => {
      this.#log.warn({ ...nameOf(storage), err: error }, 'removing abandoned uploads failed');
    });
    const usedBytes = await this.#deps.storage.usedBytes(ownerOf(storage)).catch((error) => {
      this.#log.warn({ ...nameOf(storage), err: error }, 'measuring storage failed');
      return null;
    });
    if (usedBytes === null) return;
    if (storage.kind === 'volume' && usedBytes !== storage.usedBytes) {
      await updateVolumeUsage(this.#deps.pool, storage.id, usedBytes);
    }
    this.#warnOverfull(storage, usedBytes);
  }

  /** Warns once each time storage grows over its size. */
  #warnOverfull(storage: MeasuredStorage, usedBytes: number): void {
    if (usedBytes <= storage.sizeGb * GIBIBYTE) {
      this.#overfull.delete(storage.id);
      return;
    }
    if (this.#overfull.has(storage.id)) return;
    this.#overfull.add(storage.id);
    const what = storage.kind === 'volume' ? `network volume '${storage.name}'` : 'persistent storage';
    const line = `the ${what} holds ${(usedBytes / GIBIBYTE).toFixed(1)} GB, more than its ${storage.sizeGb} GB`;
    this.#deps.logger.warn({ ...nameOf(storage), usedBytes, sizeGb: storage.sizeGb }, 'storage over its size');
    for (const id of storage.workloadIds) this.#deps.logs.system(id, line);
  }
}

function ownerOf(storage: MeasuredStorage): StorageOwner {
  return storage.kind === 'pod'
    ? { kind: 'pod', id: storage.id }
    : { kind: 'volume', dataCenterId: storage.dataCenterId, id: storage.id };
}

function nameOf({ kind, id }: MeasuredStorage): { podId: string } | { volumeId: string } {
  return kind === 'pod' ? { podId: id } : { volumeId: id };
}
