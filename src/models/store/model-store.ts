/**
 * The models of this machine (docs/decisions/0112-models-on-machines.md): each file is stored once, by its digest, and fetched once for all
 * waiting starts. A user gets only files that the origin gave to anonymous readers or to them, never another user's.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, systemClock } from '../../core/clock.ts';
import { Semaphore } from '../../core/flow/semaphore.ts';
import type { UserId, WorkerId } from '../../core/ids.ts';
import type { PinnedFile, PinnedModel } from '../../domain/models/pinned-model.ts';
import { type FileOrigin, proveAccess } from '../fetch/fetch-file.ts';
import { FileFetcher } from '../fetch/file-fetcher.ts';
import type { Reach } from '../fetch/http-get.ts';
import { SharedWork } from '../fetch/shared-work.ts';
import { placeOf } from '../origins/file-place.ts';
import { BlobFiles } from './blob-files.ts';
import { beginProgress, doneBytes, type FetchProgress, reportProgress } from './fetch-progress.ts';
import { CACHE_PATH, checkNames, HUB_PATH } from './model-paths.ts';
import { ModelRecords } from './model-records.ts';
import { distinct, ModelRoom, type ModelsRoom, type RoomOptions } from './model-room.ts';
import { runAll } from './run-all.ts';
import type { BringOptions, FetchingModel, StoredModel, WantedModel } from './stored-model.ts';
import { type ViewMount, WorkerViews } from './worker-views.ts';

export interface ModelStoreOptions extends RoomOptions {
  /** The public hub, or one that answers as it does; without a trailing slash. */
  hubUrl: string;
  /** Files of a model that are fetched at once. */
  parallel: number;
  bytesPerSecond: number | null;
  /** Where URLs of users may lead; null: anywhere. */
  reach: Reach | null;
  /** Workers see their models at the paths of a container; else their environment has the paths. */
  isShown: boolean;
  /** Called when a fetch begins. */
  onFetch?: () => void;
  clock?: Clock;
  retryMs?: number;
  /** Absent: one of its own. */
  fetcher?: FileFetcher;
}

const DEFAULT_RETRY_MS = 500;
const FOLDERS = ['blobs', 'links', 'partial', 'records', 'workers'];

export class ModelStore {
  readonly #options: ModelStoreOptions;
  readonly #blobs: BlobFiles;
  readonly #records: ModelRecords;
  readonly #views: WorkerViews;
  readonly #room: ModelRoom;
  readonly #fetcher: FileFetcher;
  readonly #clock: Clock;
  /** One at a time decides what is stored and what leaves. */
  readonly #lock = new Semaphore(1);
  /** By model and user. */
  readonly #fetches = new SharedWork<void>();
  /** By content. */
  readonly #downloads = new SharedWork<void>();
  readonly #progress = new Map<string, FetchProgress>();
  /** Models that a start needs until the worker sees them, with how many need each. */
  readonly #needed = new Map<string, { model: PinnedModel; count: number }>();
  #opened: Promise<void> | undefined;
  #isOpen = false;

  constructor(options: ModelStoreOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#blobs = new BlobFiles(options.root);
    this.#records = new ModelRecords(options.root);
    this.#views = new WorkerViews(options.root);
    this.#room = new ModelRoom(options, this.#blobs, this.#records, {
      coming: () => this.#progress.values(),
      needed: () => [...this.#needed.values()].map(({ model }) => model),
      isHeld: (id) => this.#isHeld(id),
    });
    const { bytesPerSecond, retryMs = DEFAULT_RETRY_MS, fetcher } = options;
    this.#fetcher = fetcher ?? new FileFetcher({ bytesPerSecond, retryMs });
  }

  /** True when a worker's models are there for it. */
  has(workerId: WorkerId): boolean {
    return this.#views.has(workerId);
  }

  /**
   * Brings a worker's models and keeps them until `release`. Resolves true when something had to be fetched. Throws a sentence for users that names the
   * model; what was fetched until then is used by the next call.
   */
  async bring(models: readonly WantedModel[], options: BringOptions): Promise<boolean> {
    await this.#open();
    for (const { model } of models) checkNames(model);
    for (const { model } of models) this.#need(model, 1);
    try {
      const fetched = await Promise.all(models.map((wanted) => this.#bringOne(wanted, options)));
      await this.#lock.run(async () => {
        const { isShown } = this.#options;
        await this.#views.make(options.workerId, models, { blobs: this.#blobs, isShown });
        await this.#records.touch(models, this.#clock.now());
      });
      return fetched.includes(true);
    } finally {
      for (const { model } of models) this.#need(model, -1);
    }
  }

  /** Brings a model that no worker needs yet. Throws as `bring`. */
  async fetch(wanted: WantedModel, options: Omit<BringOptions, 'workerId'>): Promise<void> {
    await this.#open();
    checkNames(wanted.model);
    this.#need(wanted.model, 1);
    try {
      await this.#bringOne(wanted, options);
      await this.#lock.run(() => this.#records.touch([wanted], this.#clock.now()));
    } finally {
      this.#need(wanted.model, -1);
    }
  }

  /** Returns the models that are being fetched now, for all users. */
  fetching(): FetchingModel[] {
    return [...this.#progress].map(([key, progress]) => {
      return { id: key.slice(0, key.indexOf(' ')), bytes: doneBytes(progress), totalBytes: progress.totalBytes };
    });
  }

  /**
   * Returns how a worker that `bring` was called for sees its models, and the variables that it gets unless it has them. Without
   * containers there are no mounts: the variables alone say where models are.
   */
  async mountsOf(workerId: WorkerId): Promise<{ mounts: ViewMount[]; defaults: Record<string, string> }> {
    const { isShown } = this.#options;
    const hub = isShown ? HUB_PATH : this.#views.hubOf(workerId);
    const cache = isShown ? CACHE_PATH : this.#views.cacheOf(workerId);
    const mounts = isShown ? await this.#views.mountsOf(workerId) : [];
    return { mounts, defaults: { HF_HUB_CACHE: hub, PODYARD_MODEL_CACHE: cache } };
  }

  /** The folder that a worker may write to besides its own disk; null: it has no models. */
  writableOf(workerId: WorkerId): string | null {
    return this.#views.has(workerId) ? this.#views.hubOf(workerId) : null;
  }

  /** Forgets a worker that has ended; its models may leave from now on. Idempotent. */
  async release(workerId: WorkerId): Promise<void> {
    await this.#open();
    if (this.#views.has(workerId)) await this.#lock.run(() => this.#views.remove(workerId));
  }

  /** Releases all workers that have ended, and makes room on a disk that others fill. */
  async tidy(listLive: (ids: readonly WorkerId[]) => Promise<ReadonlySet<WorkerId>>): Promise<void> {
    await this.#open();
    const ids = this.#views.workerIds;
    const live = await listLive(ids);
    for (const id of ids) if (!live.has(id)) await this.release(id);
    await this.#lock.run(() => this.#room.make());
  }

  /** Those used longest ago come first. */
  async list(): Promise<StoredModel[]> {
    await this.#open();
    const held = this.#views.held();
    return this.#records.list().map(({ model, fetchedAt, usedAt, isKept }) => {
      return { model, fetchedAt, usedAt, isKept, isHeld: held.has(model.id) || this.#needed.has(model.id) };
    });
  }

  /** Has a stored model stay when room is needed, or leave then as others do. */
  async keep(id: string, isKept: boolean): Promise<void> {
    await this.#lock.run(async () => {
      const record = this.#records.get(id);
      if (record) await this.#records.put({ ...record, isKept });
    });
  }

  /** Returns what models may take here and what they take. */
  async room(): Promise<ModelsRoom> {
    await this.#open();
    return this.#room.read();
  }

  /** Removes a model that no worker sees; false: one does. True if it is not there. */
  async remove(id: string): Promise<boolean> {
    await this.#open();
    return this.#lock.run(async () => {
      if (this.#isHeld(id)) return false;
      await this.#room.drop(id);
      return true;
    });
  }

  #open(): Promise<void> {
    if (this.#isOpen && FOLDERS.some((name) => !existsSync(join(this.#options.root, name)))) {
      this.#isOpen = false; // the folder was removed by hand
      this.#opened = undefined;
    }
    this.#opened ??= (async () => {
      await this.#blobs.open();
      await this.#records.open();
      await this.#views.open();
      this.#isOpen = true;
    })().catch((error) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #bringOne({ model, use, token }: WantedModel, options: Omit<BringOptions, 'workerId'>): Promise<boolean> {
    const { userId, signal, onProgress } = options;
    if (this.#isReady(model, userId)) return false;
    const key = `${model.id} ${userId} ${use.tokenSecret ?? ''}`;
    const stop = reportProgress(model.name, () => this.#progress.get(key), onProgress);
    let isFetched = false;
    try {
      await this.#fetches.run(key, signal, (stillWanted) => this.#fetch(key, { model, userId, token }, stillWanted));
      isFetched = true;
    } finally {
      stop(isFetched);
    }
    return true;
  }

  /** True when the model is whole, and may be given to the user. */
  #isReady(model: PinnedModel, userId: UserId): boolean {
    const record = this.#records.get(model.id);
    if (!record || !(record.isOpen || record.readers.includes(userId))) return false;
    return model.files.every((file) => this.#blobs.isIntact(file));
  }

  async #fetch(
    key: string,
    { model, userId, token }: { model: PinnedModel; userId: UserId; token: string | null },
    signal: AbortSignal,
  ): Promise<void> {
    const files = distinct(model.files);
    const missing: PinnedFile[] = [];
    let mustProve = false;
    for (const file of files) {
      const isThere = this.#blobs.isIntact(file);
      const isGiven = isThere && this.#isGivenTo(userId, file);
      if (!isThere || (!isGiven && model.source !== 'HUB')) missing.push(file);
      else mustProve ||= !isGiven;
    }
    const progress = beginProgress(missing);
    try {
      await this.#lock.run(async () => {
        await this.#room.reserve(model, missing);
        this.#progress.set(key, progress); // counted as coming from here on
      });
      this.#options.onFetch?.();
      const slots = new Semaphore(this.#options.parallel);
      const isOwn = await runAll(missing, signal, (file, stillWanted) =>
        slots.run(() => {
          stillWanted.throwIfAborted();
          const origin = this.#originOf(model, file, token);
          return this.#fetchFile({ origin, progress, canProve: model.source === 'HUB' }, file, stillWanted);
        }),
      );
      if (model.source === 'HUB' && (mustProve || isOwn.includes(false))) {
        await proveAccess(this.#originOf(model, files[0]!, token), files[0]!, signal);
      }
      await this.#lock.run(() => this.#record(model, userId, token === null));
    } finally {
      this.#progress.delete(key);
      await this.#room.endComing(missing);
    }
  }

  /**
   * Returns false when another user's fetch brought the file, which proves nothing about this one: where that can't be proven
   * otherwise, it is fetched once more.
   */
  async #fetchFile(
    { origin, progress, canProve }: { origin: FileOrigin; progress: FetchProgress; canProve: boolean },
    file: PinnedFile,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { counters } = this.#options;
    const onSize = (size: number, received: number) => {
      progress.sizes.set(file.digest, size);
      counters?.fetchedBytes(received);
    };
    const { beginnings } = this.#blobs;
    const path = beginnings.pathOf(file);
    for (;;) {
      let isOwn = false;
      const fetch = async (stillWanted: AbortSignal) => {
        if (canProve && this.#blobs.isIntact(file)) return; // another one ended since this file was missing
        isOwn = true;
        await beginnings.takeOver(file);
        await beginnings.noteComing(file); // another fetch may have ended its note
        await this.#fetcher.fetch(origin, file, { path, onSize, signal: stillWanted });
        await this.#blobs.seal(file);
      };
      try {
        await this.#downloads.run(file.digest, signal, fetch);
      } catch (error) {
        if (isOwn || signal.aborted) throw error;
        continue; // another user's fetch failed, perhaps for lack of a right that this user has
      }
      progress.sizes.set(file.digest, file.size);
      if (isOwn || canProve) return isOwn;
    }
  }

  #originOf(model: PinnedModel, file: PinnedFile, secret: string | null): FileOrigin {
    const { hubUrl, reach } = this.#options;
    const place = placeOf(model, file, { secret, hubUrl });
    return { ...place, model: model.name, reach: model.source === 'HUB' ? null : reach };
  }

  /** True when the origin gave the file to everybody, or to the user. */
  #isGivenTo(userId: UserId, { digest }: PinnedFile): boolean {
    return this.#records
      .list()
      .some(
        ({ model, isOpen, readers }) =>
          (isOpen || readers.includes(userId)) && model.files.some((file) => file.digest === digest),
      );
  }

  async #record(model: PinnedModel, userId: UserId, isOpen: boolean): Promise<void> {
    const before = this.#records.get(model.id);
    const readers = new Set([...(before?.readers ?? []), userId]);
    const usedAt = new Date(this.#clock.now()).toISOString();
    await this.#records.put({
      model,
      isOpen: isOpen || before?.isOpen === true,
      isKept: before?.isKept === true,
      readers: [...readers],
      fetchedAt: before?.fetchedAt ?? usedAt,
      usedAt,
    });
  }

  #isHeld(id: string): boolean {
    return this.#needed.has(id) || this.#views.held().has(id);
  }

  #need(model: PinnedModel, change: 1 | -1): void {
    const count = (this.#needed.get(model.id)?.count ?? 0) + change;
    if (count > 0) this.#needed.set(model.id, { model, count });
    else this.#needed.delete(model.id);
  }
}
