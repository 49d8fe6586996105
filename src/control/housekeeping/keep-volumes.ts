import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { Loop, type NextRun } from '../../core/loop.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import {
  deleteVolumeRemoval,
  listMeasuredStorage,
  listVolumeRemovals,
  type MeasuredStorage,
  noteVolumeUsage,
} from '../../domain/volumes/measured-storage.ts';
import type { StorageOwner, WorkloadStorage } from '../../runtimes/storage.ts';
import type { LogCollector } from '../workloads/collect-logs.ts';

const TICK_MS = 60_000;
/** Looking through millions of files takes the disk's time: a fiftieth of it is enough. */
const REST_FACTOR = 50;
const GIBIBYTE = 2 ** 30;

/** Removes the files of deleted volumes, measures what the others hold, and says so when it is too much. */
export class VolumeKeeper {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #logger: Logger;
  readonly #logs: LogCollector;
  readonly #storage: WorkloadStorage;
  readonly #loop: Loop;
  #unsubscribe = () => {};
  #measureAt = 0;
  /** What holds more than it may, and was told about. */
  readonly #overfull = new Set<string>();

  constructor(options: {
    pool: Pool;
    bus: Bus;
    logger: Logger;
    logs: LogCollector;
    storage: WorkloadStorage;
  }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#logger = options.logger;
    this.#logs = options.logs;
    this.#storage = options.storage;
    this.#loop = new Loop({
      name: 'keep-volumes',
      tickMs: TICK_MS,
      logger: options.logger,
      runOnce: () => this.#run(),
    });
  }

  start(): void {
    this.#unsubscribe = this.#bus.subscribe('volume', () => this.#loop.wake());
    this.#loop.start();
  }

  stop(): Promise<void> {
    this.#unsubscribe();
    return this.#loop.stop();
  }

  /** Removes and measures now. */
  runOnce(): Promise<void> {
    this.#measureAt = 0;
    return this.#loop.runOnce();
  }

  async #run(): Promise<NextRun> {
    await this.#removeDeleted();
    const now = Date.now();
    if (now < this.#measureAt) return { atMs: this.#measureAt };
    for (const storage of await listMeasuredStorage(this.#pool)) await this.#measure(storage);
    this.#measureAt = Date.now() + Math.max(TICK_MS, (Date.now() - now) * REST_FACTOR);
    return { atMs: this.#measureAt };
  }

  /** What cannot be removed is met again at the next tick. */
  async #removeDeleted(): Promise<void> {
    for (const { id, dataCenterId } of await listVolumeRemovals(this.#pool)) {
      try {
        await this.#storage.remove({ kind: 'volume', dataCenterId, id });
        await deleteVolumeRemoval(this.#pool, id);
      } catch (error) {
        this.#logger.warn({ volumeId: id, err: error }, `a deleted volume's files stay for now: ${messageOf(error)}`);
      }
    }
  }

  async #measure(storage: MeasuredStorage): Promise<void> {
    const usedBytes = await this.#storage.usedBytes(ownerOf(storage)).catch((error) => {
      this.#logger.warn({ ...nameOf(storage), err: error }, `what is stored cannot be measured: ${messageOf(error)}`);
      return null;
    });
    if (usedBytes === null) return;
    if (storage.kind === 'volume' && usedBytes !== storage.usedBytes) {
      await noteVolumeUsage(this.#pool, storage.id, usedBytes);
    }
    this.#tellOverfull(storage, usedBytes);
  }

  /** Once for each time that it grows over its size. */
  #tellOverfull(storage: MeasuredStorage, usedBytes: number): void {
    if (usedBytes <= storage.sizeGb * GIBIBYTE) {
      this.#overfull.delete(storage.id);
      return;
    }
    if (this.#overfull.has(storage.id)) return;
    this.#overfull.add(storage.id);
    const what = storage.kind === 'volume' ? `network volume '${storage.name}'` : 'persistent storage';
    const line = `the ${what} holds ${(usedBytes / GIBIBYTE).toFixed(1)} GB, more than its ${storage.sizeGb} GB`;
    this.#logger.warn(nameOf(storage), line);
    for (const id of storage.workloadIds) this.#logs.system(id, line);
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
