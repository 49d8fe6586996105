/**
 * The folders of an installation's workloads, one each. They are the only record:
 *   workload.json  what it is (never its environment, which holds secrets)
 *   process        pid and start time of its shell, the leader of its group
 *   output.log     what it printed, with output.log.index
 *   exit           its exit code, once it has ended
 *   work/          its working directory, with links to the image's files
 * A folder that begins with `.removed-` is being removed, which takes a while for millions of files.
 * Nothing is cached: each question reads the files again, because other processes write them.
 */
import { randomUUID } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type Clock, systemClock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { removeTree } from '../../core/files/remove-tree.ts';
import type { Mount, ObservedState, OnProgress, WorkloadSpec } from '../runtime.ts';
import { bootId, type GroupId, groupState } from './process-group.ts';
import { isShortage } from './shortage.ts';

/** The record in workload.json. */
export interface Workload {
  id: string;
  kind: WorkloadSpec['kind'];
  image: string;
  gpu: WorkloadSpec['gpu'];
  /** UUIDs of its real GPUs. */
  gpuDevices: readonly string[];
  ports: readonly string[];
  mounts: readonly Mount[];
  bootId: string;
}

const FOLDER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const REMOVED = '.removed-';
/** Between a folder and its process lie milliseconds. A folder that has none after this is left from an interrupted start. */
const START_TIMEOUT_MS = 5000;

export class WorkloadFolders {
  readonly #root: string;
  readonly #clock: Clock;

  constructor(root: string, clock: Clock = systemClock) {
    this.#root = root;
    this.#clock = clock;
    mkdirSync(root, { recursive: true, mode: 0o700 });
  }

  /** Removes what a kill has left of folders that were being removed. */
  async sweep(): Promise<void> {
    for (const name of readdirSync(this.#root)) {
      if (name.startsWith(REMOVED)) await removeTree(join(this.#root, name));
    }
  }

  ids(): string[] {
    return readdirSync(this.#root).filter((name) => FOLDER_NAME.test(name));
  }

  /** Throws `badRequest` for an id that is not a folder name. */
  pathOf(id: string): string {
    if (!FOLDER_NAME.test(id)) throw new Failure('badRequest', `'${id}' is not a valid workload id`);
    return join(this.#root, id);
  }

  /** Creates the folder. Relative paths in a command work as in a container; what the workload writes stays in its own folder. */
  make(spec: WorkloadSpec, gpuDevices: readonly string[], imageDirectory: string, onProgress: OnProgress): void {
    const { id, kind, image, gpu, ports, mounts } = spec;
    const work = join(this.pathOf(id), 'work');
    mkdirSync(work, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(imageDirectory)) symlinkSync(join(imageDirectory, name), join(work, name));
    const workload: Workload = { id, kind, image, gpu, gpuDevices, ports, mounts, bootId: bootId() };
    writeFileSync(join(this.pathOf(id), 'workload.json'), JSON.stringify(workload));
    linkMounts(mounts, work, onProgress);
  }

  /** The workload is unknown at once; its files are gone when this resolves. */
  async remove(id: string): Promise<void> {
    const mounts = this.find(id)?.mounts ?? [];
    const removed = join(this.#root, `${REMOVED}${randomUUID()}`);
    if (lstatSync(this.pathOf(id), { throwIfNoEntry: false })) renameSync(this.pathOf(id), removed);
    const held = this.ids().flatMap((other) => this.find(other)?.mounts ?? []);
    unlinkMounts(mounts, held);
    await removeTree(removed);
  }

  find(id: string): Workload | undefined {
    const text = this.#read(id, 'workload.json');
    return text === '' ? undefined : ({ ports: [], mounts: [], gpuDevices: [], ...JSON.parse(text) } as Workload); // older records lack them
  }

  stateOf(workload: Workload): ObservedState {
    if (this.exitCodeOf(workload.id) !== undefined) return 'exited';
    const group = this.groupOf(workload);
    if (!group) return this.#isFresh(workload.id) ? 'created' : 'exited';
    return ({ running: 'running', stopped: 'frozen', gone: 'exited' } as const)[groupState(group)];
  }

  /** True when it has ended, or does not exist. */
  isOver(id: string): boolean {
    const workload = this.find(id);
    return !workload || this.stateOf(workload) === 'exited';
  }

  /** Undefined before its processes exist, and after a restart of the machine, which ended them. */
  groupOf(workload: Workload): GroupId | undefined {
    const [pid, startedAt] = this.#read(workload.id, 'process').trim().split(/ (.*)/);
    if (!pid || !startedAt || workload.bootId !== bootId()) return undefined;
    return { pid: Number(pid), startedAt };
  }

  exitCodeOf(id: string): number | undefined {
    const text = this.#read(id, 'exit').trim();
    return text === '' ? undefined : Number(text);
  }

  startedAt(id: string): Date | null {
    return this.#timeOf(id, 'workload.json');
  }

  /** When a workload ended. */
  finishedAt(id: string): Date | null {
    return this.#timeOf(id, 'exit') ?? this.#timeOf(id, 'output.log');
  }

  #isFresh(id: string): boolean {
    const madeAt = this.startedAt(id);
    return madeAt !== null && this.#clock.now() - madeAt.getTime() < START_TIMEOUT_MS;
  }

  #timeOf(id: string, file: string): Date | null {
    return statSync(join(this.pathOf(id), file), { throwIfNoEntry: false })?.mtime ?? null;
  }

  /** Returns '' when there is no such file. A workload is not over because the file could not be opened for lack of descriptors. */
  #read(id: string, file: string): string {
    const path = join(this.pathOf(id), file);
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      if (isShortage(error)) throw error;
      return '';
    }
  }
}

const TOP_LEVEL = /^\/[^/]+$/;

/** Returns the variable with the path of the workload's storage. */
export function mountEnv({ mounts }: Pick<WorkloadSpec, 'mounts'>): Record<string, string> {
  return mounts[0] === undefined ? {} : { RUNPOD_VOLUME_PATH: mounts[0].source };
}

/**
 * Creates a symbolic link for each mount, always inside the workload's own folder (`/workspace` becomes `workspace` there), and at its
 * real path if that is directly below `/`, free, and Podyard may write there. Throws `conflict` when something else is in the way: the program would write to the wrong place.
 * A link that merely cannot be created is reported to `onProgress`.
 */
function linkMounts(mounts: readonly Mount[], work: string, onProgress: OnProgress): void {
  for (const { source, target } of mounts) {
    if (!lstatSync(source, { throwIfNoEntry: false })?.isDirectory()) {
      throw new Failure('unavailable', `Directory ${source} does not exist and cannot be mounted at ${target}`);
    }
    linkInside(work, source, target);
    if (!linkAtPath(source, target)) {
      onProgress(`${target} cannot be created on this machine: use ${source} instead (RUNPOD_VOLUME_PATH)`);
    }
  }
}

/** Removes the links at real paths, except those that `held` still needs. */
function unlinkMounts(mounts: readonly Mount[], held: readonly Mount[]): void {
  for (const { source, target } of mounts) {
    const isHeld = held.some((other) => other.source === source && other.target === target);
    if (isHeld || linkOf(target) !== source) continue;
    try {
      unlinkSync(target);
    } catch {
      // already removed
    }
  }
}

/** The image's files are links in the same folder: creating something below one would create it in the image itself. */
function linkInside(work: string, source: string, target: string): void {
  const first = join(work, target.split('/')[1]!);
  if (lstatSync(first, { throwIfNoEntry: false })) {
    throw new Failure('unprocessable', `Storage cannot be mounted at ${target}: the image has files there`);
  }
  const path = join(work, target);
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(source, path);
}

/** False when the link may not be created, or its path is not directly below `/`. */
function linkAtPath(source: string, target: string): boolean {
  if (!TOP_LEVEL.test(target) || linkOf(target) === source) return TOP_LEVEL.test(target);
  try {
    symlinkSync(source, target);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
    const what = linkOf(target) === undefined ? 'other files' : 'another workload’s storage';
    const text = `Storage cannot be mounted at ${target}: without containers the path is shared, and ${what} is there`;
    throw new Failure('conflict', text, { cause: error });
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
