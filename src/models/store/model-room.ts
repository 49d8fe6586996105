import { join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import { type DiskSpace, readDisk } from '../../core/files/read-disk.ts';
import type { PinnedFile, PinnedModel } from '../../domain/models/pinned-model.ts';
import { comingBytesIn } from './beginnings.ts';
import type { BlobFiles } from './blob-files.ts';
import { budgetOf, type DiskLimits, type DiskState, gigabytes, missingBytes, refuseTooLarge } from './disk-room.ts';
import type { FetchProgress } from './fetch-progress.ts';
import { blobName, HUB_FOLDER } from './model-paths.ts';
import type { ModelRecords } from './model-records.ts';

export interface RoomOptions extends DiskLimits {
  /** Belongs to one installation. */
  root: string;
  counters?: { fetchedBytes: (bytes: number) => void; evicted: () => void };
  /** Says how large the disk is; for tests. */
  readDisk?: (path: string) => Promise<DiskSpace>;
}

/** The models that starts and workers need now. */
export interface RoomUses {
  /** Fetches that run. */
  coming(): Iterable<FetchProgress>;
  /** Models that starts wait for. */
  needed(): readonly PinnedModel[];
  /** A start waits for the model, or a worker sees it. */
  isHeld(id: string): boolean;
}

/** The room that models may take and do take on a disk, in bytes; each file is counted once. */
export interface ModelsRoom {
  budgetBytes: number;
  usedBytes: number;
  /** Bytes of models that cannot leave: workers use them, or they are kept. */
  stuckBytes: number;
}

/** Decides which models leave a disk. One call at a time: its callers hold the store's lock. */
export class ModelRoom {
  readonly #options: RoomOptions;
  readonly #blobs: BlobFiles;
  readonly #records: ModelRecords;
  readonly #uses: RoomUses;

  constructor(options: RoomOptions, blobs: BlobFiles, records: ModelRecords, uses: RoomUses) {
    this.#options = options;
    this.#blobs = blobs;
    this.#records = records;
    this.#uses = uses;
  }

  /**
   * Counts missing files as coming, for all that fill the disk, until `endComing`: also if it throws, because the model does not fit even once
   * everything that may leave has left.
   */
  async reserve(model: PinnedModel, missing: readonly PinnedFile[]): Promise<void> {
    refuseTooLarge(this.#options, await this.#readState(), model.name, sum(distinct(model.files)));
    const { beginnings } = this.#blobs;
    for (const file of missing) await beginnings.noteComing(file); // then of two that look, the last one sees both
    const left = await this.make();
    if (left <= 0) return;
    const begun = new Map(
      (await beginnings.list()).flatMap(({ name, bytes, isOthers }) => (isOthers ? [] : [[name, bytes] as const])),
    );
    const bytes = missing.reduce((total, file) => total + file.size - (begun.get(blobName(file)) ?? 0), 0);
    const text = `the model '${model.name}' needs ${gigabytes(bytes)} more on this machine, and ${gigabytes(left)} of it are taken by models that workers use or that are pinned, or by other files`;
    throw new Failure('unavailable', text);
  }

  /** To be called once the fetch is none of `coming` any more. */
  async endComing(files: readonly PinnedFile[]): Promise<void> {
    const others = [...this.#uses.coming()];
    for (const file of files) {
      if (!others.some(({ sizes }) => sizes.has(file.digest))) await this.#blobs.beginnings.noteEnd(file);
    }
  }

  /** Has models leave, those used longest ago first, until all that is coming fits. Returns how many bytes are still missing. */
  async make(): Promise<number> {
    const missing = async () => missingBytes(this.#options, await this.#readState());
    if ((await missing()) <= 0) return 0;
    await this.#dropLeftovers();
    for (const { model, isKept } of this.#records.list()) {
      if ((await missing()) <= 0) return 0;
      if (isKept || this.#uses.isHeld(model.id)) continue;
      await this.drop(model.id);
      this.#options.counters?.evicted();
    }
    return missing();
  }

  async read(): Promise<ModelsRoom> {
    const disk = await this.#readState();
    const stuck = this.#records.list().filter(({ model, isKept }) => isKept || this.#uses.isHeld(model.id));
    return {
      budgetBytes: budgetOf(this.#options, disk),
      usedBytes: disk.usedBytes,
      stuckBytes: sum(distinct(stuck.flatMap(({ model }) => model.files))),
    };
  }

  async #readState(): Promise<DiskState> {
    const all = await this.#blobs.beginnings.list();
    const left = new Map(
      all.flatMap(({ name, bytes, isOwn, isOthers }) => (isOwn || isOthers ? [] : [[name, bytes] as const])),
    );
    let [begun, comingBytes] = [0, 0];
    for (const { name, bytes, comingBytes: coming, isOwn } of all) {
      begun += bytes;
      comingBytes += isOwn && bytes === 0 ? Math.max(0, coming - (left.get(name) ?? 0)) : coming; // it resumes where another fetch ended
    }
    const disk = await (this.#options.readDisk ?? readDisk)(this.#options.root);
    const elsewhereBytes = await comingBytesIn(join(this.#options.root, HUB_FOLDER));
    return { ...disk, usedBytes: (await this.#blobs.bytes()) + begun, comingBytes, elsewhereBytes };
  }

  /** Removes what kills left behind: partial files, and files of models that were never whole. */
  async #dropLeftovers(): Promise<void> {
    const wanted = this.#wantedBlobs();
    const stored = await this.#blobs.names();
    for (const begun of await this.#blobs.beginnings.list()) {
      const isLeft = !begun.isOwn && !begun.isOthers && stored.includes(begun.name);
      if (isLeft || !(begun.isOthers || wanted.has(begun.name))) await this.#blobs.beginnings.remove(begun);
    }
    for (const name of stored) if (!wanted.has(name)) await this.#blobs.remove(name);
  }

  /** Removes a model, and what no other one has of it. */
  async drop(id: string): Promise<void> {
    const record = this.#records.get(id);
    if (!record) return;
    await this.#records.remove(id);
    const wanted = this.#wantedBlobs();
    for (const file of record.model.files) {
      if (!wanted.has(blobName(file))) await this.#blobs.remove(blobName(file));
    }
  }

  /** Names of all contents that a stored or needed model has. */
  #wantedBlobs(): Set<string> {
    const models = [...this.#records.list().map(({ model }) => model), ...this.#uses.needed()];
    return new Set(models.flatMap(({ files }) => files.map(blobName)));
  }
}

/** Returns each content once. */
export function distinct(files: readonly PinnedFile[]): PinnedFile[] {
  return [...new Map(files.map((file) => [file.digest, file])).values()];
}

export function sum(files: readonly PinnedFile[]): number {
  return files.reduce((total, { size }) => total + size, 0);
}
