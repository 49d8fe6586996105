import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A file or a symbolic link of an artifact, with its path in it. Folders follow from the paths, belong to root and have mode
 * 0755, except those that are entries.
 */
export type Entry = { path: string } & (
  | { kind: 'file'; isExecutable: boolean; content: Buffer | { from: string } }
  | { kind: 'link'; target: string }
  | { kind: 'folder'; mode: number; owner: number }
);

/** An entry whose content is at hand. */
export function textEntry(path: string, text: string | Buffer, isExecutable = false): Entry {
  return { kind: 'file', path, isExecutable, content: Buffer.from(text) };
}

/** An entry that is a copy of the file `at`. */
export function fileEntry(path: string, at: string, isExecutable = false): Entry {
  return { kind: 'file', path, isExecutable, content: { from: at } };
}

/** Returns the entries with their paths below a folder. */
export function below(folder: string, entries: Entry[]): Entry[] {
  return entries.map((entry) => ({ ...entry, path: `${folder}/${entry.path}` }));
}

/** Returns a folder's files and links in the order of their paths, without those that `keeps` is false for. */
export async function folderEntries(folder: string, keeps: (path: string) => boolean = () => true): Promise<Entry[]> {
  const listed = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = listed.filter((item) => !item.isDirectory()).map((item) => join(item.parentPath, item.name));
  const kept = paths.map((path) => path.slice(folder.length + 1)).filter(keeps);
  return Promise.all(kept.sort().map((path) => readEntry(folder, path)));
}

async function readEntry(folder: string, path: string): Promise<Entry> {
  const at = join(folder, path);
  const stats = await lstat(at);
  if (stats.isSymbolicLink()) return { kind: 'link', path, target: await readlink(at) };
  return fileEntry(path, at, (stats.mode & 0o100) !== 0);
}

/** Returns a file's content. */
export async function readContent(entry: Entry & { kind: 'file' }): Promise<Buffer> {
  return Buffer.isBuffer(entry.content) ? entry.content : readFile(entry.content.from);
}

/** Returns the lines that `sha256sum --check` reads, one for each file and none for a link, in the order of the paths. */
export async function checksumLines(entries: Entry[]): Promise<string> {
  const files = entries.filter((entry) => entry.kind === 'file').sort((a, b) => (a.path < b.path ? -1 : 1));
  let lines = '';
  for (const file of files) {
    const hash = createHash('sha256').update(await readContent(file));
    lines += `${hash.digest('hex')}  ${file.path}\n`;
  }
  return lines;
}
