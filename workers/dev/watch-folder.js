import { lstatSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

/** Elsewhere Node.js watches each file, and no longer sees one that an editor has replaced: each folder gets a watch of its own. */
const IS_RECURSIVE = process.platform === 'darwin' || process.platform === 'win32';

/** See watch-folder.d.ts. */
export function watchFolder(root, { isForeign, onChange, onError }) {
  /** By path in the folder. */
  const watchers = new Map();

  function open(path) {
    watchers.get(path)?.close(); // of a folder of that name that is gone
    try {
      const watcher = watch(join(root, path), { recursive: IS_RECURSIVE }, (event, name) => {
        if (name !== null) seen(join(path, name), event);
      });
      watchers.set(path, watcher.on('error', onError));
    } catch (error) {
      if (error.code !== 'ENOENT') onError(error);
    }
    if (!IS_RECURSIVE) for (const inner of entriesOf(path)) if (inner.isDirectory()) open(join(path, inner.name));
  }

  function seen(path, event) {
    if (isForeign(path)) return;
    onChange(path);
    if (event !== 'rename' || IS_RECURSIVE || !isFolder(path)) return;
    open(path);
    written(path);
  }

  /** Reports the files of a new folder: they may have been written before its watch was there. */
  function written(path) {
    for (const entry of entriesOf(path)) {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) written(inner);
      else onChange(inner);
    }
  }

  const isFolder = (path) => lstatSync(join(root, path), { throwIfNoEntry: false })?.isDirectory() === true;
  const entriesOf = (path) => {
    try {
      return readdirSync(join(root, path), { withFileTypes: true }).filter(({ name }) => !isForeign(join(path, name)));
    } catch {
      return []; // it has gone
    }
  };

  open('');
  return () => {
    for (const watcher of watchers.values()) watcher.close();
  };
}
