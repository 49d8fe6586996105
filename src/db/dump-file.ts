/**
 * The backup file. Its first line is text for people (`head -1`): what it is, and its schema. The rest is gzip of
 * frames, each one byte for its kind, four for its length, and the content: keys (K), a table (T), its rows in COPY's
 * format (D), their number (R), the end (E). gzip's checksums detect damage; the end frame detects truncation and holds
 * the checksum of the first line.
 */
import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { messageOf } from '../core/errors.ts';
import { fileReason } from '../core/files/file-reason.ts';
import { newId } from '../core/ids.ts';
import type { DumpRecord } from './dump.ts';
import { isAlive } from './postmaster.ts';

const MAGIC = 'podyard-backup ';
const FORMAT_VERSION = 1;
const FIRST_LINE_BYTES = 2 ** 20;
/** PostgreSQL's own limit for a row. */
const FRAME_BYTES = 2 ** 30;
const HEAD_BYTES = 5;

/** The content of the first line. */
export interface BackupHeader {
  formatVersion: number;
  /** The version of Podyard that wrote it, e.g. 0.1.0. */
  podyard: string;
  createdAt: string;
  /** Its schema, as names of migrations. */
  migrations: string[];
  /** Ids of the master keys that its values are encrypted under. */
  keyIds: string[];
  holdsMasterKey: boolean;
}

export interface Backup {
  header: BackupHeader;
  /** In base64; empty unless `holdsMasterKey`. */
  masterKeys: string[];
  records: AsyncIterable<DumpRecord>;
}

/**
 * Writes a backup that only its owner can read; returns its size in bytes. The file gets its name once it is complete and
 * synced; what a killed run has left of it, `FILE.<pid>-<random>.part`, is removed by the next one. Throws if the file exists.
 */
export async function writeBackup(
  file: string,
  backup: Omit<Backup, 'header'> & { header: Omit<BackupHeader, 'formatVersion'> },
  signal: AbortSignal,
): Promise<number> {
  if (await stat(file).catch(() => null)) throw new Error(`${file} already exists: name another file`);
  await removeAbandoned(file);
  const part = `${file}.${process.pid}-${newId(6)}.part`;
  const handle = await open(part, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT')
      throw new Error(`there is no folder ${dirname(file)}: make it first`, { cause: error });
    throw new Error(`${file} cannot be written: ${fileReason(error)}`, { cause: error });
  });
  try {
    const line = `${MAGIC}${JSON.stringify({ formatVersion: FORMAT_VERSION, ...backup.header })}\n`;
    await handle.write(line);
    const write = async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) await handle.write(chunk);
    };
    await pipeline(encode(line, backup), createGzip({ level: 1 }), write, { signal });
    await handle.sync();
    await rename(part, file);
    return (await handle.stat()).size;
  } finally {
    await handle.close();
    await rm(part, { force: true });
    await syncDirectory(dirname(file));
  }
}

/** Removes the parts of a backup whose writers are gone. */
async function removeAbandoned(file: string): Promise<void> {
  const [folder, name] = [dirname(file), basename(file)];
  for (const entry of await readdir(folder).catch(() => [])) {
    const pid = entry.startsWith(`${name}.`) && /^(\d+)-\w{6}\.part$/.exec(entry.slice(name.length + 1))?.[1];
    if (pid && !isAlive(Number(pid))) await rm(join(folder, entry), { force: true });
  }
}

/** Reads a backup from start to end. Throws an error to print if it is not a backup, newer, truncated or damaged. */
export async function readBackup<T>(
  file: string,
  signal: AbortSignal,
  work: (backup: Backup) => Promise<T>,
): Promise<T> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'does not exist' : `cannot be read: ${fileReason(error)}`;
    throw new Error(`${file} ${reason}`, { cause: error });
  });
  try {
    if ((await handle.stat()).isDirectory()) throw new Error(`${file} is a folder: name the backup in it`);
    const line = await readFirstLine(handle, file);
    const header = parseHeader(line, file);
    const source = handle.createReadStream({ start: Buffer.byteLength(line), autoClose: false });
    let result: T;
    await pipeline(
      source,
      createGunzip(),
      async (bytes) => {
        const frames = readFrames(bytes as AsyncIterable<Buffer>);
        const masterKeys = await readKeys(frames);
        result = await work({ header, masterKeys, records: decode(frames, line) });
      },
      { signal },
    ).catch((error) => {
      throw isDamage(error)
        ? new Error(`${file} is truncated or damaged: ${messageOf(error)}`, { cause: error })
        : error;
    });
    return result!;
  } finally {
    await handle.close();
  }
}

async function readFirstLine(handle: FileHandle, file: string): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(FIRST_LINE_BYTES), 0, FIRST_LINE_BYTES, 0);
  const end = buffer.subarray(0, bytesRead).indexOf('\n');
  const line = buffer.toString('utf8', 0, end + 1);
  if (!line.startsWith(MAGIC)) throw new Error(`${file} is not a Podyard backup`);
  return line;
}

function parseHeader(line: string, file: string): BackupHeader {
  let header: BackupHeader;
  try {
    header = JSON.parse(line.slice(MAGIC.length)) as BackupHeader;
  } catch {
    throw new Error(`${file} is damaged: its first line is not a valid header`);
  }
  if (header.formatVersion === FORMAT_VERSION && Array.isArray(header.migrations)) return header;
  throw new Error(
    `${file} has format ${header.formatVersion}, but this Podyard reads format ${FORMAT_VERSION}: use Podyard ${header.podyard} or later`,
  );
}

async function* encode(firstLine: string, backup: Omit<Backup, 'header'>): AsyncGenerator<Uint8Array, void, void> {
  yield* frame('K', JSON.stringify(backup.masterKeys));
  for await (const record of backup.records) {
    if (record.kind === 'table') yield* frame('T', JSON.stringify(record.table));
    else if (record.kind === 'rows') yield* frame('D', record.bytes);
    else if (record.kind === 'tableEnd') yield* frame('R', JSON.stringify(record.rows));
    else yield* frame('E', JSON.stringify({ tables: record.tables, firstLine: checksum(firstLine) }));
  }
}

function* frame(kind: string, content: string | Uint8Array): Generator<Uint8Array, void, void> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const head = Buffer.alloc(HEAD_BYTES);
  head.write(kind, 'latin1');
  head.writeUInt32BE(bytes.length, 1);
  yield head;
  yield bytes;
}

type Frames = AsyncGenerator<{ kind: string; content: Buffer }, void, void>;

async function* readFrames(source: AsyncIterable<Buffer>): Frames {
  let rest: Buffer = Buffer.alloc(0);
  let parts: Buffer[] = []; // of a frame that is longer than a chunk
  let missing = HEAD_BYTES;
  for await (const chunk of source) {
    parts.push(chunk);
    missing -= chunk.length;
    if (missing > 0) continue;
    rest = Buffer.concat(parts);
    for (;;) {
      missing = lengthOf(rest) - rest.length;
      if (missing > 0) break;
      const end = lengthOf(rest);
      yield { kind: String.fromCharCode(rest[0]!), content: rest.subarray(HEAD_BYTES, end) };
      rest = rest.subarray(end);
    }
    parts = [rest];
  }
  if (missing < HEAD_BYTES || rest.length > 0) throw new Damage('it ends inside a frame');
}

/** Returns the length of the frame that starts here, head included; while the head is incomplete, the head's. */
function lengthOf(bytes: Buffer): number {
  if (bytes.length < HEAD_BYTES) return HEAD_BYTES;
  const length = bytes.readUInt32BE(1);
  if (length > FRAME_BYTES) throw new Damage('a frame is too long');
  return HEAD_BYTES + length;
}

async function readKeys(frames: Frames): Promise<string[]> {
  const first = await frames.next();
  if (first.done || first.value.kind !== 'K') throw new Damage('it does not start with the keys');
  return JSON.parse(first.value.content.toString()) as string[];
}

async function* decode(frames: Frames, firstLine: string): AsyncGenerator<DumpRecord, void, void> {
  for await (const { kind, content } of frames) {
    if (kind === 'D') yield { kind: 'rows', bytes: content };
    else if (kind === 'T') yield { kind: 'table', table: JSON.parse(content.toString()) };
    else if (kind === 'R') yield { kind: 'tableEnd', rows: JSON.parse(content.toString()) };
    else if (kind === 'E') {
      const end = JSON.parse(content.toString()) as { tables: number; firstLine: string };
      if (end.firstLine !== checksum(firstLine)) throw new Damage('its first line was changed');
      for await (const _ of frames) throw new Damage('data follows its end'); // the loop also verifies gzip's own checksum
      yield { kind: 'end', tables: end.tables };
    } else throw new Damage(`it has a frame of unknown kind ${JSON.stringify(kind)}`);
  }
}

class Damage extends Error {}

function isDamage(error: unknown): boolean {
  return error instanceof Damage || String((error as { code?: unknown }).code).startsWith('Z_');
}

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path);
  await directory.sync().finally(() => directory.close());
}
