import { createWriteStream } from 'node:fs';
import { chmod, mkdir, symlink, utimes } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { extract, type Header } from 'tar-stream';

/**
 * Unpacks an archive of one file or folder as `content` in a new folder. A pod may send anything: names that leave the folder
 * are an error, links that do are left out, and links are made last, so that nothing is written through one.
 */
export async function unpack(
  stream: AsyncIterable<Buffer>,
  folder: string,
  note: (text: string) => void,
): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  const archive = extract();
  const links: { path: string; to: string }[] = [];
  const folders: { path: string; header: Header }[] = [];
  const piped = pipeline(stream, archive);
  const cut = new AbortController();
  piped.catch((error) => cut.abort(error)); // thrown below
  for await (const entry of archive) {
    const { header } = entry;
    const inner = innerPath(header.name);
    const path = join(folder, 'content', inner);
    if (header.type === 'directory') {
      await mkdir(path, { recursive: true });
      folders.push({ path, header });
    } else if (header.type === 'file' || header.type === 'contiguous-file') {
      await mkdir(dirname(path), { recursive: true });
      await pipeline(entry, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal: cut.signal });
      await restore(path, header);
      continue;
    } else if (header.type === 'symlink' && staysInside(inner, header.linkname ?? '/')) {
      links.push({ path, to: header.linkname! });
    } else
      note(
        `left out ${JSON.stringify(header.name)}: ${header.type === 'symlink' ? 'a link to elsewhere' : `a ${header.type}`}`,
      );
    entry.resume();
  }
  await piped;
  for (const { path, to } of links) {
    await mkdir(dirname(path), { recursive: true });
    await symlink(to, path);
  }
  for (const { path, header } of folders.toReversed()) await restore(path, header);
}

/** Returns the path within the one file or folder of the archive. Throws for one that leaves it. */
function innerPath(name: string): string {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (name.startsWith('/') || parts.includes('..') || name.includes('\0')) {
    throw new Error(`the archive names ${JSON.stringify(name)}, which is outside of what was asked for`);
  }
  return parts.slice(1).join('/');
}

function staysInside(inner: string, to: string): boolean {
  const target = posix.normalize(posix.join(posix.dirname(inner), to));
  return !posix.isAbsolute(to) && target !== '..' && !target.startsWith('../');
}

/** Without setuid, setgid and sticky bits. */
async function restore(path: string, { mode = 0o644, mtime }: Header): Promise<void> {
  await chmod(path, mode & 0o777);
  if (mtime) await utimes(path, mtime, mtime);
}
