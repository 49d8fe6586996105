import { opendir, rmdir, unlink } from 'node:fs/promises';
import { codeOf, type Folder } from './folder.ts';

/** Where uploads are written until they are complete: at the top of each volume, in no listing, and not reachable by a key. */
export const HIDDEN_FOLDER = '.podyard-s3';

/** A file that was not written to for this long belongs to a server that was killed. */
const FILE_AGE_MS = 24 * 3_600_000;
/** An upload in parts is given up when no part came for this long. */
const UPLOAD_AGE_MS = 7 * 24 * 3_600_000;

/** Removes what uploads that never ended have left in a volume. */
export async function sweepUploads(top: Folder, nowMs: number): Promise<void> {
  const hidden = await top.enter(HIDDEN_FOLDER).catch(orNone);
  if (hidden === null) return;
  try {
    for await (const { name } of await opendir(hidden.path)) {
      const found = await hidden.look(name).catch(orNone);
      if (found === null) continue;
      const ageMs = nowMs - Number(found.mtimeMs);
      if (!found.isDirectory()) {
        if (ageMs > FILE_AGE_MS) await unlink(hidden.at(name)).catch(orNone);
      } else if (ageMs > UPLOAD_AGE_MS) await removeFolder(hidden, name);
    }
  } finally {
    await hidden.close();
  }
}

/** A directory's time is that of its newest part. A pod may have put others in it: what is not empty stays. */
async function removeFolder(hidden: Folder, name: string): Promise<void> {
  const folder = await hidden.enter(name).catch(orNone);
  if (folder === null) return;
  try {
    for await (const entry of await opendir(folder.path)) await unlink(folder.at(entry.name)).catch(orNone);
  } finally {
    await folder.close();
  }
  await rmdir(hidden.at(name)).catch(orNone);
}

function orNone(error: unknown): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENOTEMPTY', 'EPERM'].includes(codeOf(error) ?? '')) return null;
  throw error;
}
