import { chmodSync, existsSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { removeTree } from '../../core/files/remove-tree.ts';
import type { WorkerId } from '../../core/ids.ts';
import type { ModelUse, PinnedModel } from '../../domain/models/pinned-model.ts';
import { hexOf } from '../fetch/partial-file.ts';
import type { BlobFiles } from './blob-files.ts';
import { CACHE_PATH, fileFolder, HUB_PATH, hubFolder, isRelative } from './model-paths.ts';

const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;

/** A folder as a worker sees it; the shape of a runtime's mount. */
export interface ViewMount {
  source: string;
  target: string;
  isReadOnly?: boolean;
}

/** A model of a worker, and how its release names it. */
export interface UsedModel {
  use: ModelUse;
  model: PinnedModel;
}

/**
 * Each worker's view of models, in a folder of its own, made of hard links:
 *   workers/<id>/view.json                     the models in it: they stay as long as the folder does
 *   workers/<id>/hub/                          the hub's cache, which the worker may write to
 *   workers/<id>/models/models--ORG--NAME/     blobs, refs and snapshots as the hub lays them out, mounted read-only in it
 *   workers/<id>/cache/                        ORG/NAME/<revision>, https/<host>/<path>, s3/<bucket>/<key>, oci/<registry>/<repository>
 */
export class WorkerViews {
  readonly #root: string;
  /** Ids of models by worker. */
  readonly #views = new Map<WorkerId, readonly string[]>();

  constructor(root: string) {
    this.#root = join(root, 'workers');
  }

  /** Reads what is there; half a view holds nothing. */
  async open(): Promise<void> {
    this.#views.clear();
    await mkdir(this.#root, { recursive: true, mode: 0o711 });
    for (const name of await readdir(this.#root)) {
      const text = await readFile(join(this.#root, name, 'view.json'), 'utf8').catch(() => null);
      if (text === null) await this.#removeFolder(name);
      else this.#views.set(name as WorkerId, JSON.parse(text) as string[]);
    }
  }

  get workerIds(): WorkerId[] {
    return [...this.#views.keys()];
  }

  has(id: WorkerId): boolean {
    return this.#views.has(id);
  }

  /** Returns the ids of all models that some worker sees. */
  held(): Set<string> {
    return new Set([...this.#views.values()].flat());
  }

  /** Builds a worker's view. `isShown`: the worker sees it at the paths of a container. */
  async make(
    id: WorkerId,
    models: readonly UsedModel[],
    { blobs, isShown }: { blobs: BlobFiles; isShown: boolean },
  ): Promise<void> {
    const folder = this.#folderOf(id);
    if (existsSync(folder)) await this.remove(id);
    const hub = isShown ? HUB_PATH : join(folder, 'hub');
    for (const name of ['hub', 'models', 'cache']) mkdirSync(join(folder, name), { recursive: true });
    for (const { use, model } of models) {
      if (model.source === 'HUB') {
        addRepository(folder, { use, model, blobs, hub, isShown });
      } else {
        const place = join(folder, 'cache', fileFolder(model));
        for (const file of model.files) linkOnce(blobs.pathOf(file), join(place, file.path));
      }
    }
    chmodSync(join(folder, 'hub'), 0o777); // images run as whichever user they like
    const ids = models.map(({ model }) => model.id);
    writeFileSync(join(folder, 'view.json'), JSON.stringify(ids));
    this.#views.set(id, ids);
  }

  /** Returns a worker's mounts, outer ones first. */
  async mountsOf(id: WorkerId): Promise<ViewMount[]> {
    const folder = this.#folderOf(id);
    const names = await readdir(join(folder, 'models'));
    return [
      { source: join(folder, 'hub'), target: HUB_PATH },
      ...names.map((name) => ({
        source: join(folder, 'models', name),
        target: `${HUB_PATH}/${name}`,
        isReadOnly: true,
      })),
      { source: join(folder, 'cache'), target: CACHE_PATH, isReadOnly: true },
    ];
  }

  /** The folder that a worker may write to; a hub's client also stores there what else it downloads. */
  hubOf(id: WorkerId): string {
    return join(this.#folderOf(id), 'hub');
  }

  /** The folder that is `CACHE_PATH` in a container. */
  cacheOf(id: WorkerId): string {
    return join(this.#folderOf(id), 'cache');
  }

  async remove(id: WorkerId): Promise<void> {
    await this.#removeFolder(id);
    this.#views.delete(id);
  }

  /** First the record goes: what a kill halfway leaves holds nothing, and is removed at the next start. */
  async #removeFolder(name: string): Promise<void> {
    const folder = join(this.#root, name);
    await rm(join(folder, 'view.json'), { force: true });
    await removeTree(folder); // with whatever a worker has stored in its hub
  }

  #folderOf(id: WorkerId): string {
    if (!PLAIN_NAME.test(id)) throw new Error(`'${id}' is not a valid directory name`);
    return join(this.#root, id);
  }
}

interface Placing extends UsedModel {
  blobs: BlobFiles;
  /** Where the worker sees the hub's cache. */
  hub: string;
  isShown: boolean;
}

/** Synchronous: a link takes microseconds, and waiting for a thread for each would take most of a start. */
function addRepository(folder: string, { use, model, blobs, hub, isShown }: Placing): void {
  const name = hubFolder(model.name);
  const own = join(folder, 'models', name);
  const snapshot = join(own, 'snapshots', model.commit);
  const folders = new Set([join(own, 'blobs'), ...model.files.map(({ path }) => dirname(join(snapshot, path)))]);
  for (const path of folders) mkdirSync(path, { recursive: true });
  for (const file of model.files) {
    once(() => linkSync(blobs.pathOf(file), join(own, 'blobs', hexOf(file))));
    once(() => blobs.linkFromSnapshot(file, file.path.split('/').length - 1, join(snapshot, file.path)));
  }
  const isBranch = use.revision !== null && use.revision !== model.commit && isRelative(use.revision);
  for (const revision of new Set(['main', ...(isBranch ? [use.revision!] : [])])) {
    writeRef(join(own, 'refs', revision), model.commit);
    const shown = join(folder, 'cache', model.name, revision);
    mkdirSync(dirname(shown), { recursive: true });
    once(() => symlinkSync(join(hub, name, 'snapshots', model.commit), shown));
  }
  if (isShown) mkdirSync(join(folder, 'hub', name), { recursive: true });
  else once(() => symlinkSync(own, join(folder, 'hub', name)));
}

/** Two uses of one repository share its folder: the first one's refs stay. */
function writeRef(path: string, commit: string): void {
  mkdirSync(dirname(path), { recursive: true });
  once(() => writeFileSync(path, commit, { flag: 'wx' }));
}

function linkOnce(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  once(() => linkSync(from, to));
}

/** Makes something, unless it is there already. */
function once(make: () => void): void {
  try {
    make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
