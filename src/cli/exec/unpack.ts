import { createWriteStream } from 'node:fs';
import { chmod, mkdir, symlink, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { extract, type Header } from 'tar-stream';

const ROOT = '/';
/** Links that one target may lead through: Linux' own limit. */
const MAX_FOLLOWED = 40;

/**
 * Unpacks an archive of one file or folder as `content` in a new folder. A pod may send anything: names that leave the folder
 * are an error, links that do are left out, and links are made last and never inside a folder that is one, so that nothing is
 * written through a link.
 */
export async function unpack(
  stream: AsyncIterable<Buffer>,
  folder: string,
  note: (text: string) => void,
): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  const archive = extract();
  const links = new Map<string, string>();
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
    } else if (header.type === 'symlink') {
      if (inner === '') throw new Error(`${header.name} is a link: name what it points to`);
      links.set(inner, header.linkname ?? '/');
    } else note(`left out ${JSON.stringify(header.name)}: a ${header.type}`);
    entry.resume();
  }
  await piped;
  for (const [inner, to] of links) {
    if (staysInside(inner, links)) {
      const path = join(folder, 'content', inner);
      await mkdir(dirname(path), { recursive: true });
      await symlink(to, path);
    } else note(`left out ${JSON.stringify(inner)}: a link to elsewhere`);
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

/**
 * True if the link's folder is a real one and its target is inside. The target is followed as a kernel does, through the
 * other links of the archive: after `up -> a/..`, the text `up/..` is no longer the folder that it seems to name.
 */
function staysInside(inner: string, links: ReadonlyMap<string, string>): boolean {
  const folder = inner.split('/').slice(0, -1);
  if (folder.some((_, depth) => links.has(folder.slice(0, depth + 1).join('/')))) return false;
  const at: string[] = [...folder];
  const ahead = partsOf(links.get(inner)!);
  for (let followed = 0; ahead.length > 0; ) {
    if (ahead[0] === ROOT) return false;
    const part = ahead.shift()!;
    if (part === '..' && at.pop() === undefined) return false;
    if (part === '..') continue;
    at.push(part);
    const to = links.get(at.join('/'));
    if (to === undefined) continue;
    if (++followed > MAX_FOLLOWED) return false;
    at.pop();
    ahead.unshift(...partsOf(to));
  }
  return true;
}

/** Returns the parts of a link's target that lead elsewhere; an absolute one starts with `ROOT`. */
function partsOf(to: string): string[] {
  const parts = to.split('/').filter((part) => part !== '' && part !== '.');
  return to.startsWith('/') ? [ROOT, ...parts] : parts;
}

/** Without setuid, setgid and sticky bits. */
async function restore(path: string, { mode = 0o644, mtime }: Header): Promise<void> {
  await chmod(path, mode & 0o777);
  if (mtime) await utimes(path, mtime, mtime);
}
