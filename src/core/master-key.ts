import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { appendFile, link, mkdir, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MASTER_KEY_BYTES } from './secret-box.ts';

/** Where the master keys are: given, or in a file. Of several the first is the one that a rotation leads to. */
export interface MasterKeySource {
  /** From the environment; null: those in the file. */
  keys: readonly Uint8Array[] | null;
  file: string;
}

/**
 * One master key or several, divided by commas, blanks or line ends, each 32 bytes as base64 (or base64url) or hex. More
 * than one are there while a rotation is under way: the first is the one that it leads to. Throws a sentence that names
 * `source`, and never shows the text itself.
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

/** The keys in `file`, undefined when there is no such file. Synchronous, for it is also read in the midst of an open. */
export function readMasterKeys(file: string): Buffer[] | undefined {
  try {
    return parseMasterKeys(readFileSync(file, 'utf8'), file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The keys in `file`, made on the first start. It appears whole or not at all, only its owner can read it, and of
 * processes that start together all get the same one. A file that holds no key is an error: it is never written over.
 */
export async function ensureMasterKeys(file: string): Promise<Buffer[]> {
  const known = readMasterKeys(file);
  if (known) return known;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  // A link, unlike a rename, fails when somebody else's key is there already; that one counts.
  await publishKeys(file, [newMasterKey()], (draft) =>
    link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    }),
  );
  const keys = readMasterKeys(file);
  if (!keys) throw new Error(`${file} was made and is gone again`);
  return keys;
}

/** Puts other keys into `file`, at once and durably: whoever reads it finds the old ones or the new ones. */
export async function replaceMasterKeys(file: string, keys: readonly Uint8Array[]): Promise<void> {
  await publishKeys(file, keys, (draft) => rename(draft, file));
}

/** Adds keys that nothing needs any more, but old backups might, to `file`; those that it has already are left out. */
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

/** Writes a file of its own beside `file` and lets `publish` bring it to its place. */
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
      if (error.code !== 'ENOENT') throw error; // a rename has taken it
    });
  }
  const directory = await open(dirname(file));
  await directory.sync().finally(() => directory.close());
}
