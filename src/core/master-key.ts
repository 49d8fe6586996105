import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { MASTER_KEY_BYTES } from './secret-box.ts';

/** 32 bytes as base64 (or base64url) or hex. Throws a sentence that names `source`, and never shows the text itself. */
export function parseMasterKey(text: string, source: string): Buffer {
  const trimmed = text.trim();
  const isHex = /^[0-9a-f]{64}$/i.test(trimmed);
  const isBase64 = /^[\w+/-]{43}=?$/.test(trimmed);
  const key = isHex ? Buffer.from(trimmed, 'hex') : Buffer.from(isBase64 ? trimmed : '', 'base64');
  if (key.length === MASTER_KEY_BYTES) return key;
  throw new Error(`${source} does not hold a master key: it must be ${MASTER_KEY_BYTES} bytes in base64 or hex`);
}

/**
 * The key in `file`, made on the first start. It appears whole or not at all, only its owner can read it, and of
 * processes that start together all get the same one. A file that holds no key is an error: it is never written over.
 */
export async function ensureMasterKey(file: string): Promise<Buffer> {
  const known = await readKeyFile(file);
  if (known) return known;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await createKeyFile(file);
  const key = await readKeyFile(file);
  if (!key) throw new Error(`${file} was made and is gone again`);
  return key;
}

async function readKeyFile(file: string): Promise<Buffer | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : parseMasterKey(text, file);
}

/** A link, unlike a rename, fails when somebody else's key is there already; that one counts. */
async function createKeyFile(file: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(`${randomBytes(MASTER_KEY_BYTES).toString('base64')}\n`);
    await handle.sync();
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await handle.close();
    await unlink(draft);
  }
  const directory = await open(dirname(file));
  await directory.sync().finally(() => directory.close());
}
