import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { watchFolder } from '../../../../workers/dev/watch-folder.js';
import { UsageError } from '../../../core/usage-error.ts';
import type { FolderEntry } from '../../../domain/builds/build.ts';
import { hashFiles, scanFolder } from '../../../domain/builds/scan-folder.ts';

/** The files of a folder by path, each with what identifies its content. */
export type FolderState = ReadonlyMap<string, FolderEntry>;

/** The difference between two states: paths to remove, then files to write. */
export interface FolderChange {
  write: FolderEntry[];
  remove: string[];
}

/** An editor writes a file in several steps. */
const SETTLE_MS = 20;
/** Folders that hold what others have written: packages, caches, version control. */
const FOREIGN = /(^|\/)(\.git|\.podyard|\.venv|node_modules|__pycache__)(\/|$)/;

/** Reads a folder as `podyard deploy` would send it, again and again: only files with another size or time are read. */
export class RemoteFolder {
  readonly #root: string;
  #known = new Map<string, { mark: string; entry: FolderEntry }>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Throws a `UsageError` for what cannot be read. A file that goes away meanwhile is left out. */
  async read(): Promise<FolderState> {
    const { files } = await scanFolder(this.#root, { withInstalled: false });
    const marks = await Promise.all(files.map(({ path }) => this.#markOf(path)));
    const known = new Map<string, { mark: string; entry: FolderEntry }>();
    for (const [i, file] of files.entries()) {
      const mark = marks[i];
      if (mark === null || mark === undefined) continue;
      const before = this.#known.get(file.path);
      const entry = before?.mark === mark ? before.entry : await this.#hash(file);
      if (entry !== null) known.set(file.path, { mark, entry });
    }
    this.#known = known;
    return new Map([...known].map(([path, { entry }]) => [path, entry]));
  }

  /** Calls back after each change, however many files it has. Returns what ends it. */
  watch(onChange: () => void, onError: (error: Error) => void): () => void {
    let timer: NodeJS.Timeout | undefined;
    const changed = () => {
      clearTimeout(timer);
      timer = setTimeout(onChange, SETTLE_MS);
    };
    const end = watchFolder(this.#root, { isForeign: (path) => FOREIGN.test(path), onChange: changed, onError });
    return () => {
      clearTimeout(timer);
      end();
    };
  }

  async #markOf(path: string): Promise<string | null> {
    const info = await lstat(join(this.#root, path)).catch(() => null);
    return info && `${info.ino} ${info.size} ${info.mtimeMs} ${info.mode}`;
  }

  async #hash(file: Parameters<typeof hashFiles>[1][number]): Promise<FolderEntry | null> {
    try {
      return (await hashFiles(this.#root, [file]))[0]!;
    } catch (error) {
      if (error instanceof UsageError && (await this.#markOf(file.path)) === null) return null;
      throw error;
    }
  }
}

/** Returns what makes one state of another. From null, everything: what an image has at the same top-level names goes first. */
export function changeOf(before: FolderState | null, after: FolderState): FolderChange {
  if (before === null) {
    const tops = new Set([...after.keys()].map((path) => path.split('/', 1)[0]!));
    return { write: [...after.values()], remove: [...tops] };
  }
  const write = [...after.values()].filter((entry) => markOf(before.get(entry.path)) !== markOf(entry));
  const remove = [...before.keys()].filter((path) => !after.has(path));
  // A file where a folder was, and the other way round.
  const folders = new Set([...before.keys()].flatMap(foldersOf));
  const replaced = write.filter(({ path }) => folders.has(path));
  return { write, remove: [...remove, ...replaced.map(({ path }) => path)] };
}

/** Returns the folders that a path is in. */
function foldersOf(path: string): string[] {
  const names = path.split('/');
  return names.slice(1).map((_, i) => names.slice(0, i + 1).join('/'));
}

function markOf(entry: FolderEntry | undefined): string | null {
  if (entry === undefined) return null;
  return 'link' in entry ? `link ${entry.link}` : `${entry.digest} ${(entry.mode & 0o100) !== 0}`;
}
