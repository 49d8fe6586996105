import { execFile } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { codeOf } from './folder.ts';

const TIMEOUT_MS = 600_000;
/** Each level has an open directory; what is deeper is counted by `du` alone. */
const MAX_LEVELS = 128;
const BLOCK_BYTES = 512;
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Returns the bytes of a directory on one file system, without following links; 0 if it does not exist. Uses `du`, which no
 * concurrent rename leads astray; where there is none, as in the image, it goes down by descriptors itself.
 */
export async function directoryBytes(path: string): Promise<number> {
  if (!existsSync(path)) return 0;
  try {
    const { stdout } = await promisify(execFile)('du', ['-s', '-k', '-x', '--', path], { timeout: TIMEOUT_MS });
    return parseKibibytes(stdout);
  } catch (error) {
    // du exits with 1 when files vanished while it counted; its count still stands.
    const { stdout, code } = error as { stdout?: string; code?: unknown };
    if (code === 1 && stdout) return parseKibibytes(stdout);
    if (code === 'ENOENT' && process.platform === 'linux') return countBytes(path);
    throw error;
  }
}

function parseKibibytes(text: string): number {
  return Number.parseInt(text, 10) * 1024;
}

async function countBytes(path: string): Promise<number> {
  const top = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const { dev, blocks } = await top.stat();
    return blocks * BLOCK_BYTES + (await bytesBelow(top, { device: dev, seen: new Set(), levels: MAX_LEVELS }));
  } finally {
    await top.close();
  }
}

/** `seen`: files that have several names, by their number; each counts once. */
async function bytesBelow(
  directory: FileHandle,
  { device, seen, levels }: { device: number; seen: Set<number>; levels: number },
): Promise<number> {
  const here = `/proc/self/fd/${directory.fd}`;
  let bytes = 0;
  for await (const entry of await opendir(here, { encoding: 'buffer' as BufferEncoding })) {
    const path = Buffer.concat([Buffer.from(`${here}/`), entry.name as unknown as Buffer]); // names need not be UTF-8
    const found = await orGone(lstat(path));
    if (!found || found.dev !== device || seen.has(found.ino)) continue;
    if (found.nlink > 1 && !found.isDirectory()) seen.add(found.ino);
    bytes += found.blocks * BLOCK_BYTES;
    if (!found.isDirectory() || levels === 0) continue;
    const inner = await orGone(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (!inner) continue;
    try {
      bytes += await bytesBelow(inner, { device, seen, levels: levels - 1 });
    } finally {
      await inner.close();
    }
  }
  return bytes;
}

/** Undefined for what has gone, or become something else, since it was listed. */
async function orGone<T>(found: Promise<T>): Promise<T | undefined> {
  return found.catch((error) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  });
}
