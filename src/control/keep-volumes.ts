import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { Loop, type NextRun } from '../core/loop.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import {
  deleteVolumeRemoval,
  listMeasuredStorage,
  listVolumeRemovals,
  type MeasuredStorage,
  noteVolumeUsage,
} from '../domain/volumes/measured-storage.ts';
import type { LogCollector } from './collect-logs.ts';
import type { StorageDirectories, StorageOwner } from './storage-directories.ts';

const TICK_MS = 60_000;
/** Looking through millions of files takes the disk's time: a fiftieth of it is enough. */
const REST_FACTOR = 50;
const DU_TIMEOUT_MS = 600_000;
const GIBIBYTE = 2 ** 30;

/** Removes the directories of deleted volumes, measures what the others hold, and says so when it is too much. */
export class VolumeKeeper {
  readonly #pool: Pool;
  readonly #bus: Bus;
  readonly #logger: Logger;
  readonly #logs: LogCollector;
  readonly #directories: StorageDirectories;
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
    directories: StorageDirectories;
  }) {
    this.#pool = options.pool;
    this.#bus = options.bus;
    this.#logger = options.logger;
    this.#logs = options.logs;
    this.#directories = options.directories;
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

  /** A directory that cannot be removed is met again at the next tick. */
  async #removeDeleted(): Promise<void> {
    for (const { id, dataCenterId } of await listVolumeRemovals(this.#pool)) {
      try {
        await this.#directories.remove({ kind: 'volume', dataCenterId, id });
        await deleteVolumeRemoval(this.#pool, id);
      } catch (error) {
        this.#logger.warn({ volumeId: id, err: error }, `a deleted volume's files stay for now: ${messageOf(error)}`);
      }
    }
  }

  async #measure(storage: MeasuredStorage): Promise<void> {
    const path = this.#directories.pathOf(ownerOf(storage));
    const usedBytes = await measure(path).catch((error) => {
      this.#logger.warn({ path, err: error }, `what a directory holds cannot be measured: ${messageOf(error)}`);
      return undefined;
    });
    if (usedBytes === undefined) return;
    if (storage.kind === 'volume' && usedBytes !== storage.usedBytes) {
      await noteVolumeUsage(this.#pool, storage.id, usedBytes);
    }
    this.#tellOverfull(storage, path, usedBytes);
  }

  /** Once for each time that it grows over its size. */
  #tellOverfull(storage: MeasuredStorage, path: string, usedBytes: number): void {
    if (usedBytes <= storage.sizeGb * GIBIBYTE) {
      this.#overfull.delete(path);
      return;
    }
    if (this.#overfull.has(path)) return;
    this.#overfull.add(path);
    const what = storage.kind === 'volume' ? `network volume '${storage.name}'` : 'persistent storage';
    const line = `the ${what} holds ${(usedBytes / GIBIBYTE).toFixed(1)} GB, more than its ${storage.sizeGb} GB`;
    this.#logger.warn({ path }, line);
    for (const id of storage.workloadIds) this.#logs.system(id, line);
  }
}

function ownerOf(storage: MeasuredStorage): StorageOwner {
  return storage.kind === 'pod' ? { kind: 'pod', id: storage.id } : { ...storage, kind: 'volume' };
}

/** In bytes, on one file system, links not followed; 0 for what is not there. `du` because no rename leads it elsewhere. */
async function measure(path: string): Promise<number> {
  if (!existsSync(path)) return 0;
  try {
    const { stdout } = await promisify(execFile)('du', ['-s', '-k', '-x', '--', path], { timeout: DU_TIMEOUT_MS });
    return parseKibibytes(stdout);
  } catch (error) {
    // Files that went while it counted make it complain, and count on all the same.
    const { stdout, code } = error as { stdout?: string; code?: unknown };
    if (code === 1 && stdout) return parseKibibytes(stdout);
    throw error;
  }
}

function parseKibibytes(text: string): number {
  return Number.parseInt(text, 10) * 1024;
}
