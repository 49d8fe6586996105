import { opendir, rmdir, unlink } from 'node:fs/promises';
import { newId } from '../../../core/ids.ts';
import { codeOf, type Folder, within } from '../../../runtimes/directories/folder.ts';
import { HIDDEN_FOLDER } from '../../../runtimes/directories/sweep-uploads.ts';
import { etagOf } from '../etag.ts';
import type { VolumeCall } from '../s3-call.ts';
import { S3Error } from '../s3-error.ts';
import { writePart } from './write-file.ts';

export const MAX_PARTS = 10_000;
const UPLOAD_ID = /^[a-z0-9]{14}$/;
const RECORD = 'upload.json';
const MAX_RECORD_BYTES = 8_192;
const PREFIX = 'upload-';
/** Sorted together: each alone would take longer. */
const MANY = 100;

/** An upload in parts that was begun: a directory in the hidden folder with a file for each part. */
export interface Upload {
  id: string;
  key: string;
  /** In ms since 1970. */
  startedMs: number;
  /** For the file, in seconds since 1970; null: when it is complete. */
  mtime: number | null;
}

export interface Part {
  number: number;
  etag: string;
  size: number;
  modifiedMs: number;
}

export async function createUpload(
  call: Pick<VolumeCall, 'deps' | 'root'>,
  upload: Omit<Upload, 'id'>,
): Promise<Upload> {
  const id = newId();
  await within(call.root, [HIDDEN_FOLDER, PREFIX + id], true, (folder) =>
    writePart(
      call,
      folder,
      { uploadId: id, name: RECORD },
      (async function* () {
        yield Buffer.from(JSON.stringify(upload));
      })(),
    ),
  );
  return { id, ...upload };
}

/** Opens an upload. Throws `NoSuchUpload`, also for one of another key. */
export async function withUpload<T>(
  root: Folder,
  { id, key }: { id: string; key: string },
  use: (folder: Folder, upload: Upload) => Promise<T>,
): Promise<T> {
  if (!UPLOAD_ID.test(id)) throw noSuchUpload();
  const found = await openUpload(root, id);
  if (found === null) throw noSuchUpload();
  try {
    const upload = await readRecord(found, id);
    if (upload?.key !== key) throw noSuchUpload();
    return await use(found, upload);
  } finally {
    await found.close();
  }
}

export function noSuchUpload(): S3Error {
  return new S3Error('NoSuchUpload', 'There is no such upload: it was completed or aborted, or is too old.');
}

export const partName = (number: number): string => `part-${String(number).padStart(5, '0')}`;

/** Returns the parts by number. */
export async function listParts(folder: Folder): Promise<Part[]> {
  const parts: Part[] = [];
  for (const name of await namesIn(folder)) {
    const number = Number(/^part-(\d{5})$/.exec(name)?.[1]);
    if (Number.isNaN(number)) continue;
    const found = await folder.look(name).catch(() => null);
    if (!found?.isFile()) continue;
    parts.push({ number, etag: etagOf(found), size: Number(found.size), modifiedMs: Number(found.mtimeMs) });
  }
  return parts.sort((a, b) => a.number - b.number);
}

/** Returns the first `max` of those uploads of a volume that are wanted, by key. However many there are, it keeps only some of them. */
export async function listUploads(
  root: Folder,
  { max, isWanted }: { max: number; isWanted: (upload: Upload) => boolean },
): Promise<Upload[]> {
  const hidden = await root.enter(HIDDEN_FOLDER).catch(() => null);
  if (hidden === null) return [];
  try {
    let uploads: Upload[] = [];
    const keepFirst = () => {
      uploads = uploads.sort(byKey).slice(0, max);
    };
    for await (const { name } of await opendir(hidden.path)) {
      if (!name.startsWith(PREFIX)) continue;
      const folder = await hidden.enter(name).catch(() => null);
      if (folder === null) continue;
      const upload = await readRecord(folder, name.slice(PREFIX.length)).finally(() => folder.close());
      if (!upload || !isWanted(upload)) continue;
      uploads.push(upload);
      if (uploads.length > 2 * max + MANY) keepFirst();
    }
    keepFirst();
    return uploads;
  } finally {
    await hidden.close();
  }
}

function byKey(a: Upload, b: Upload): number {
  return Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)) || (a.id < b.id ? -1 : 1);
}

/** Removes an upload with its parts; returns their bytes. Does nothing where it is gone. */
export async function removeUpload(root: Folder, id: string): Promise<number> {
  const folder = await openUpload(root, id);
  if (folder === null) return 0;
  let bytes = 0;
  try {
    for (const name of await namesIn(folder)) {
      const found = await folder.look(name).catch(() => null);
      if (name !== RECORD) bytes += Number(found?.size ?? 0);
      await unlink(folder.at(name)).catch(() => {});
    }
  } finally {
    await folder.close();
  }
  await within(root, [HIDDEN_FOLDER], false, (hidden) => rmdir(hidden.at(PREFIX + id))).catch(() => {});
  return bytes;
}

async function openUpload(root: Folder, id: string): Promise<Folder | null> {
  return within(root, [HIDDEN_FOLDER], false, (hidden) => hidden.enter(PREFIX + id)).catch((error) => {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '')) return null;
    throw error;
  });
}

/** The record is a user's to overwrite, from a pod: undefined if it is not one. */
async function readRecord(folder: Folder, id: string): Promise<Upload | undefined> {
  const file = await folder.openFile(RECORD).catch(() => undefined);
  if (!file) return undefined;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_RECORD_BYTES), 0, MAX_RECORD_BYTES, 0);
    const { key, startedMs, mtime } = JSON.parse(buffer.toString('utf8', 0, bytesRead)) as Partial<Upload>;
    const isValid = typeof key === 'string' && typeof startedMs === 'number';
    return isValid ? { id, key, startedMs, mtime: typeof mtime === 'number' ? mtime : null } : undefined;
  } catch {
    return undefined;
  } finally {
    await file.close();
  }
}

async function namesIn(folder: Folder): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of await opendir(folder.path)) names.push(name);
  return names;
}
