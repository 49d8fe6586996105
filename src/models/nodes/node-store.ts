/**
 * The models of a node (docs/decisions/0125-models-on-nodes.md): a folder that the init containers of workers share, or that of one
 * worker alone. Each is a process of its own, in a container of its own; what they agree on is in the folder:
 *   blobs/<digest>           contents, as a machine's store has them
 *   partial/<worker>/        what comes for one worker
 *   holds/<worker>.json      the files that a worker needs: they stay for as long as it lives
 *   workers/<worker>/        what it sees of them
 *   locks/                   who fetches what
 */
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../core/errors.ts';
import { type DiskSpace, readDisk } from '../../core/files/read-disk.ts';
import { removeTree } from '../../core/files/remove-tree.ts';
import { Semaphore } from '../../core/flow/semaphore.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import { Bandwidth } from '../fetch/bandwidth.ts';
import { fetchFile } from '../fetch/fetch-file.ts';
import { BlobFiles, SEALED_AT } from '../store/blob-files.ts';
import { gigabytes, missingBytes } from '../store/disk-room.ts';
import { beginProgress, reportProgress } from '../store/fetch-progress.ts';
import { blobName, checkNames } from '../store/model-paths.ts';
import { distinct, sum } from '../store/model-room.ts';
import { runAll } from '../store/run-all.ts';
import { type UsedModel, WorkerViews } from '../store/worker-views.ts';
import { withNodeLock } from './node-lock.ts';

export interface NodeStoreOptions {
  /** Belongs to one installation. */
  root: string;
  /** The disk space for models; null: half of the sum of what they use and what is free. */
  budgetBytes: number | null;
  readDisk?: (path: string) => Promise<DiskSpace>;
  retryMs?: number;
}

export interface NodeBringing {
  workerId: WorkerId;
  models: readonly UsedModel[];
  /** Workers that something was held for and that have ended. */
  ended: readonly WorkerId[];
  /** Where a content is read. */
  urlOf: (file: PinnedFile) => URL;
  /** Called with a line for the worker's log. */
  onProgress: (line: string) => void;
  signal: AbortSignal;
}

/** One worker's fetches; others fetch at the same time. */
const PARALLEL = 4;
const RETRY_MS = 500;
/** How often files that left between their fetch and their use are fetched again. */
const MAX_ROUNDS = 3;

export class NodeStore {
  readonly #options: NodeStoreOptions;

  constructor(options: NodeStoreOptions) {
    this.#options = options;
  }

  /** Returns the workers that something is held for. */
  async workerIds(): Promise<WorkerId[]> {
    await mkdir(this.#pathOf('holds'), { recursive: true });
    return (await readdir(this.#pathOf('holds'))).flatMap((name) =>
      name.endsWith('.json') ? (name.slice(0, -5) as WorkerId) : [],
    );
  }

  /** Brings a worker's models and shows them to it. Throws a sentence that names the model, or what takes the room. */
  async bring(bringing: NodeBringing): Promise<void> {
    const { workerId, models, signal } = bringing;
    for (const { model } of models) checkNames(model);
    const files = distinct(models.flatMap(({ model }) => model.files));
    const blobs = new BlobFiles(this.#options.root, workerId);
    await blobs.open();
    await mkdir(this.#pathOf('locks'), { recursive: true });
    await this.#locked('store', signal, async () => {
      await this.#hold(workerId, files);
      await this.#tidy(bringing);
      await this.#makeRoom(bringing, blobs);
    });
    for (let round = 1; ; round++) {
      await this.#fetchAll(bringing, blobs);
      try {
        await this.#locked('store', signal, () =>
          new WorkerViews(this.#options.root).make(workerId, models, { blobs, isShown: true }),
        );
        break;
      } catch (error) {
        if (!isAbsent(error) || round === MAX_ROUNDS) throw error;
      }
    }
    const now = new Date();
    for (const file of files) await utimes(blobs.pathOf(file), now, SEALED_AT).catch(() => {}); // its time of use
  }

  async #hold(id: WorkerId, files: readonly PinnedFile[]): Promise<void> {
    await this.workerIds(); // makes the folder
    const path = this.#pathOf('holds', `${id}.json`);
    await writeFile(`${path}.new`, JSON.stringify(files.map(({ digest, size }) => ({ digest, size }))));
    await rename(`${path}.new`, path);
  }

  /** Forgets workers that have ended. */
  async #tidy({ workerId, ended }: NodeBringing): Promise<void> {
    for (const id of ended) {
      if (id === workerId) continue;
      await removeTree(this.#pathOf('workers', id));
      await rm(this.#pathOf('partial', id), { recursive: true, force: true });
      await rm(this.#pathOf('holds', `${id}.json`), { force: true });
    }
  }

  /** Has contents that no worker needs leave, those used longest ago first, until everything that is to come fits. */
  async #makeRoom({ models }: NodeBringing, blobs: BlobFiles): Promise<void> {
    const held = new Map<string, PinnedFile>();
    for (const id of await this.workerIds()) {
      const text = await readFile(this.#pathOf('holds', `${id}.json`), 'utf8').catch(() => '[]');
      for (const file of JSON.parse(text) as PinnedFile[]) held.set(blobName(file), file);
    }
    const coming = sum([...held.values()].filter((file) => !blobs.isIntact(file)));
    const read = this.#options.readDisk ?? readDisk;
    const missing = async () => {
      const begun = (await blobs.beginnings.list()).reduce((total, { bytes }) => total + bytes, 0);
      const usedBytes = (await blobs.bytes()) + begun;
      const comingBytes = Math.max(0, coming - begun);
      const disk = { ...(await read(this.#options.root)), usedBytes, comingBytes, elsewhereBytes: 0 };
      return missingBytes(this.#options, disk);
    };
    if (coming === 0 || (await missing()) <= 0) return;
    const unused = (await blobs.names()).filter((name) => !held.has(name));
    const ages = await Promise.all(unused.map((name) => this.#usedAt(name)));
    for (const { name } of ages.sort((one, other) => one.atMs - other.atMs)) {
      await blobs.remove(name);
      if ((await missing()) <= 0) return;
    }
    const left = await missing();
    if (left <= 0) return;
    const names = models.map(({ model }) => `'${model.name}'`).join(', ');
    const text = `the node has no room for ${names}: ${gigabytes(left)} more would be needed, and the rest is taken by models that workers use, or by other files`;
    throw new Failure('unavailable', text);
  }

  async #usedAt(name: string): Promise<{ name: string; atMs: number }> {
    const found = await stat(this.#pathOf('blobs', name)).catch(() => null);
    return { name, atMs: found?.atimeMs ?? 0 };
  }

  async #fetchAll({ models, urlOf, onProgress, signal }: NodeBringing, blobs: BlobFiles): Promise<void> {
    const slots = new Semaphore(PARALLEL);
    const fetches = new Map<string, Promise<void>>();
    await Promise.all(
      models.map(async ({ model }) => {
        const missing = distinct(model.files).filter((file) => !blobs.isIntact(file));
        const progress = beginProgress(missing);
        const stop = reportProgress(model.name, () => progress, onProgress);
        let isFetched = false;
        try {
          await runAll(missing, signal, async (file, stillWanted) => {
            const onSize = (size: number) => void progress.sizes.set(file.digest, size);
            const origin = { url: urlOf(file), model: model.name, access: null, reach: null };
            const fetch = () => this.#fetch({ file, origin, onSize, signal: stillWanted }, blobs);
            const running = fetches.get(file.digest) ?? slots.acquire().then((release) => fetch().finally(release));
            fetches.set(file.digest, running);
            await running;
          });
          isFetched = true;
        } finally {
          stop(isFetched);
        }
      }),
    );
  }

  /** Another worker of this node may have brought it meanwhile. */
  async #fetch(
    {
      file,
      origin,
      onSize,
      signal,
    }: {
      file: PinnedFile;
      origin: Parameters<typeof fetchFile>[1];
      onSize: (size: number) => void;
      signal: AbortSignal;
    },
    blobs: BlobFiles,
  ): Promise<void> {
    const deps = { bandwidth: new Bandwidth(null), retryMs: this.#options.retryMs ?? RETRY_MS };
    await this.#locked(blobName(file), signal, async () => {
      if (blobs.isIntact(file)) return;
      await fetchFile(deps, origin, file, { path: blobs.beginnings.pathOf(file), onSize, signal });
      await blobs.seal(file);
    });
    onSize(file.size);
  }

  #locked<T>(name: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    return withNodeLock(this.#pathOf('locks', name), signal, work);
  }

  #pathOf(...names: string[]): string {
    return join(this.#options.root, ...names);
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
