import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, link, open, rename, unlink } from 'node:fs/promises';
import { newId } from '../../../core/ids.ts';
import { codeOf, type Folder, within } from '../../../runtimes/directories/folder.ts';
import { HIDDEN_FOLDER } from '../../../runtimes/directories/sweep-uploads.ts';
import type { ObjectKey } from '../object-key.ts';
import type { VolumeCall } from '../s3-call.ts';
import { S3Error } from '../s3-error.ts';

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_DSYNC } = constants;
const ANY_USER = 0o666;
/** So much is written before the disk is asked to keep up, so that the end of a large file need not wait for all of it. */
const SYNC_BYTES = 64 * 2 ** 20;
/** Up to this size a file comes in one write, which synchronizes it: one call less. */
const SMALL_BYTES = 2 ** 16;

export interface WriteOptions {
  /** Fails with `PreconditionFailed` if there is something with this key. */
  mustBeNew: boolean;
  /** In seconds since 1970; null: now. */
  mtime: number | null;
  /** Absent: not known. */
  bytes?: number;
}

/**
 * Writes a file as a whole: others see all of its content or none. It is written in the hidden folder, synchronized with the disk
 * and moved into its place; directories above are made. Whatever fails, nothing is left. `freedBytes`: of the file that it replaced.
 */
export async function writeFile(
  { deps, volume, root }: Pick<VolumeCall, 'deps' | 'volume' | 'root'>,
  key: ObjectKey,
  content: AsyncIterable<Buffer>,
  { mustBeNew, mtime, bytes = Number.POSITIVE_INFINITY }: WriteOptions,
): Promise<{ written: BigIntStats; freedBytes: number }> {
  const open = () => root.make(HIDDEN_FOLDER);
  return deps.folders.use(`${volume.id}/${HIDDEN_FOLDER}`, open, async (hidden) => {
    const isSmall = bytes <= SMALL_BYTES;
    return creating(hidden, isSmall ? O_DSYNC : 0, async (file, path) => {
      await fill(file, content, { mtime, isSynced: isSmall });
      const freedBytes = await within(root, key.parents, true, (folder) =>
        deps.moves.run(`${volume.id}/${key.text}`, async () => {
          const before = await folder.look(key.name).catch(() => null);
          await move(path, folder.at(key.name), mustBeNew);
          return before?.isFile() && before.nlink === 1n ? Number(before.size) : 0;
        }),
      );
      return { written: await file.stat({ bigint: true }), freedBytes };
    });
  });
}

/** Writes a file of an upload in parts, in the folder of the upload, under its final name. `freedBytes`: of the one that it replaced. */
export async function writePart(
  { deps }: Pick<VolumeCall, 'deps'>,
  folder: Folder,
  { uploadId, name }: { uploadId: string; name: string },
  content: AsyncIterable<Buffer>,
): Promise<{ written: BigIntStats; freedBytes: number }> {
  return creating(folder, 0, async (file, path) => {
    await fill(file, content, { mtime: null, isSynced: false });
    const freedBytes = await deps.moves.run(`${uploadId}/${name}`, async () => {
      const before = await folder.look(name).catch(() => null);
      await rename(path, folder.at(name));
      return Number(before?.size ?? 0);
    });
    return { written: await file.stat({ bigint: true }), freedBytes };
  });
}

/** Creates a file, which `use` moves into its place, and closes it. Removes it if that fails. */
async function creating<T>(
  folder: Folder,
  flags: number,
  use: (file: FileHandle, path: string) => Promise<T>,
): Promise<T> {
  const path = folder.at(`put-${newId()}`);
  const file = await open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | flags, ANY_USER);
  try {
    return await use(file, path);
  } catch (error) {
    await unlink(path).catch(() => {}); // gone if it was moved
    throw error;
  } finally {
    await file.close();
  }
}

async function fill(
  file: FileHandle,
  content: AsyncIterable<Buffer>,
  { mtime, isSynced }: { mtime: number | null; isSynced: boolean },
): Promise<void> {
  await file.chmod(ANY_USER); // regardless of the umask: pods run as any user
  let [size, synced] = [0, 0];
  let syncing: Promise<void> = Promise.resolve();
  try {
    for await (const chunk of content) {
      await writeAll(file, chunk);
      size += chunk.length;
      if (size - synced < SYNC_BYTES) continue;
      await syncing;
      synced = size;
      syncing = file.datasync();
      syncing.catch(() => {}); // awaited later
    }
  } finally {
    await syncing;
  }
  if (mtime !== null) await file.utimes(mtime, mtime);
  if (!isSynced) await file.datasync();
}

async function writeAll(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let at = 0; at < chunk.length; ) at += (await file.write(chunk, at)).bytesWritten;
}

async function move(from: string, to: string, mustBeNew: boolean): Promise<void> {
  if (!mustBeNew) return rename(from, to);
  try {
    await link(from, to);
    await unlink(from);
  } catch (cause) {
    if (codeOf(cause) !== 'EEXIST') throw cause;
    throw new S3Error('PreconditionFailed', 'There is already something with this key.', { cause });
  }
}
