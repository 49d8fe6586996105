import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { appendFile, link, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileReason } from './files/file-reason.ts';
import { makeFolder } from './files/make-folder.ts';
import { MASTER_KEY_BYTES } from './secret-box.ts';

/** Where the master keys come from: the environment or a file. The first of several is the current one. */
export interface MasterKeySource {
  /** From the environment; null: from the file. */
  keys: readonly Uint8Array[] | null;
  file: string;
}

/**
 * Parses one or more master keys, separated by commas or white space, each 32 bytes in base64, base64url or hex. There are
 * several during a rotation: the first is the new one. Throws an error that names `source` and never quotes the text.
 */
export function parseMasterKeys(text: string, source: string): Buffer[] {
  const items = text.split(/[\s,]+/).filter(Boolean);
  const keys = items.map((item) => {
    const isHex = /^[0-9a-f]{64}$/i.test(item);
    const isBase64 = /^[\w+/-]{43}=?$/.test(item);
    return isHex ? Buffer.from(item, 'hex') : Buffer.from(isBase64 ? item : '', 'base64');
  });
  if (keys.length > 0 && keys.every((key) => key.length === MASTER_KEY_BYTES)) return keys;
  throw new Error(`${source} does not hold a master key: it must be ${MASTER_KEY_BYTES} bytes in base64 or hex`);
}

/** Reads the keys in `file`; undefined if it does not exist. Synchronous, because a secret box reloads while it opens a value. */
export function readMasterKeys(file: string): Buffer[] | undefined {
  try {
    return parseMasterKeys(readFileSync(file, 'utf8'), file);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (syscall === undefined) throw error;
    throw new Error(
      `The master key ${file} cannot be read: ${fileReason(error)}. Put the key there, or give it in PODYARD_MASTER_KEY.`,
      { cause: error },
    );
  }
}

/**
 * Returns the keys in `file`, which is created at the first start: atomically, readable only by its owner, and with one
 * result for processes that start together. A file without a key is an error and never overwritten.
 */
export async function ensureMasterKeys(file: string): Promise<Buffer[]> {
  const known = readMasterKeys(file);
  if (known) return known;
  await makeFolder(dirname(file), 0o700);
  // Unlike a rename, a link fails if another process has created the file: then its key counts.
  await publishKeys(file, [newMasterKey()], (draft) =>
    link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    }),
  );
  const keys = readMasterKeys(file);
  if (!keys) throw new Error(`${file} was created but has disappeared`);
  return keys;
}

/** Replaces the keys in `file`, atomically and durably. */
export async function replaceMasterKeys(file: string, keys: readonly Uint8Array[]): Promise<void> {
  await publishKeys(file, keys, (draft) => rename(draft, file));
}

/** Appends keys to `file` that only old backups may still need, except those it already has. */
export async function retireMasterKeys(file: string, keys: readonly Uint8Array[]): Promise<void> {
  const known = await readFile(file, 'utf8').catch(() => '');
  const added = textOf(keys).filter((line) => !known.includes(line));
  if (added.length > 0) await appendFile(file, `${added.join('\n')}\n`, { mode: 0o600, flush: true });
}

export function newMasterKey(): Buffer {
  return randomBytes(MASTER_KEY_BYTES);
}

function textOf(keys: readonly Uint8Array[]): string[] {
  return keys.map((key) => Buffer.from(key).toString('base64'));
}

/** Writes a temporary file beside `file` and lets `publish` move it into place. */
async function publishKeys(
  file: string,
  keys: readonly Uint8Array[],
  publish: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${textOf(keys).join('\n')}\n`);
    await handle.sync();
    await publish(draft);
  } finally {
    await handle.close();
    await unlink(draft).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error; // else a rename moved it
    });
  }
  const directory = await open(dirname(file));
  await directory.sync().finally(() => directory.close());
}
