import { once } from 'node:events';
import { createReadStream, readFileSync } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Pack, pack } from 'tar-stream';
import { Failure } from '../../core/errors.ts';

/** A file that is sent beside those of the folder, or in place of one. */
export interface AddedFile {
  path: string;
  text: string;
}

/**
 * The same for all files, so that an unchanged folder is the same archive. Not 1970: the ZIP format begins in 1980, and makers
 * of packages fail with older files.
 */
const MTIME = new Date('2000-01-01T00:00:00Z');

/** Read at once, which takes a tenth of what the way through the thread pool takes. */
const SMALL_BYTES = 64 * 1024;

/** The client has applied them already. Podman would apply them again, to added files as well. */
const IGNORE_FILES = /^(?:.*\.)?(?:docker|container)ignore$/;

/**
 * Returns a folder as a tar archive, with the modes and symbolic links of its files, all owned by root. Reads a piece at a time. The
 * archive fails with `unprocessable` on what is neither a file, a folder nor a link, and on a file that changes meanwhile.
 */
export function archiveFolder(folder: string, added: readonly AddedFile[]): Readable {
  const archive = pack();
  const replaced = new Set(added.map(({ path }) => path));
  const addAll = async () => {
    for (const { path, text } of added) archive.entry({ name: path, mode: 0o644, mtime: MTIME }, text);
    await addFolder(archive, folder, '', replaced);
    archive.finalize();
  };
  addAll().catch((error) => archive.destroy(error));
  return Readable.from(archive, { objectMode: false });
}

async function addFolder(archive: Pack, root: string, below: string, replaced: ReadonlySet<string>): Promise<void> {
  const names = await readdir(join(root, below));
  for (const name of names.sort()) {
    const path = below === '' ? name : `${below}/${name}`;
    if (replaced.has(path) || IGNORE_FILES.test(path)) continue;
    const source = join(root, path);
    const found = await lstat(source);
    const header = { name: path, mode: found.mode & 0o7777, mtime: MTIME };
    if (found.isDirectory()) {
      archive.entry({ ...header, type: 'directory' });
      await addFolder(archive, root, path, replaced);
    } else if (found.isSymbolicLink()) {
      archive.entry({ ...header, type: 'symlink', linkname: await readlink(source) });
    } else if (found.isFile()) {
      await addFile(archive, source, { ...header, size: found.size });
    } else {
      throw new Failure('unprocessable', `'${path}' is neither a file, a folder nor a link.`);
    }
  }
}

async function addFile(
  archive: Pack,
  source: string,
  header: { name: string; mode: number; mtime: Date; size: number },
): Promise<void> {
  const changed = new Failure('unprocessable', `The file '${header.name}' changed while it was sent to the engine.`);
  if (header.size <= SMALL_BYTES) {
    const content = readFileSync(source);
    if (content.length !== header.size) throw changed;
    await new Promise<void>((resolve, reject) => {
      archive.entry(header, content, (error) => (error ? reject(error) : resolve()));
    });
    return;
  }
  let left = header.size;
  const done = Promise.withResolvers<void>();
  const entry = archive.entry(header, (error) => (error ? done.reject(error) : done.resolve()));
  done.promise.catch(() => {}); // awaited below, if it comes to that
  entry.on('error', () => {}); // the same
  for await (const chunk of createReadStream(source) as AsyncIterable<Buffer>) {
    left -= chunk.length;
    if (left < 0) throw changed;
    if (!entry.write(chunk)) await Promise.race([once(entry, 'drain'), done.promise]);
  }
  if (left > 0) throw changed;
  entry.end(undefined);
  await done.promise;
}
