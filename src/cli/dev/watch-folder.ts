import { type FSWatcher, lstatSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

/** Elsewhere Node.js watches each file, and no longer sees one that an editor has replaced: each folder gets a watch of its own. */
const IS_RECURSIVE = process.platform === 'darwin' || process.platform === 'win32';

interface WatchOptions {
  /** True for paths of what others write, such as packages. */
  isForeign: (path: string) => boolean;
  /** May be called several times for one change, and with no path. */
  onChange: () => void;
  onError: (error: Error) => void;
}

/** Watches a folder and all in it. Returns what ends it. */
export function watchFolder(root: string, { isForeign, onChange, onError }: WatchOptions): () => void {
  const watchers = new Map<string, FSWatcher>();
  const open = (path: string) => {
    watchers.get(path)?.close(); // of a folder of that name that is gone
    try {
      const watcher = watch(join(root, path), { recursive: IS_RECURSIVE }, (event, name) => {
        if (name !== null) seen(join(path, name), event);
      });
      watchers.set(path, watcher.on('error', onError));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') onError(error as Error);
    }
    if (!IS_RECURSIVE) for (const inner of foldersIn(path)) open(inner);
  };
  const seen = (path: string, event: string) => {
    if (isForeign(path)) return;
    const isFolder = lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
    if (event === 'rename' && !IS_RECURSIVE && isFolder) open(path);
    onChange();
  };
  const foldersIn = (path: string) =>
    entriesOf(join(root, path))
      .filter((entry) => entry.isDirectory() && !isForeign(join(path, entry.name)))
      .map((entry) => join(path, entry.name));
  open('');
  return () => {
    for (const watcher of watchers.values()) watcher.close();
  };
}

/** Nothing of a folder that has gone. */
function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return [];
  }
}
