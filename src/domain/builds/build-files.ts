import { createHash } from 'node:crypto';
import { Failure, notFound } from '../../core/errors.ts';
import { takeTurn } from '../../core/flow/turns.ts';
import { type Id, newId, type UserId } from '../../core/ids.ts';
import { type Db, isUniqueViolation, type Pool } from '../../db/pool.ts';
import { readLimitsOf } from '../quotas/limit-store.ts';
import { overLimit } from '../quotas/over-limit.ts';
import type { FolderEntry } from './build.ts';

/** Files of folders, by their content. Each user has their own, so that uploads do not reveal what other users have sent. */
type FileId = Id<'buildFile'>;

const CHUNK_BYTES = 2 ** 20;

/** How long a file is kept after its last use. */
const FILE_RETENTION = '7 days';
/** How long one may take to be sent: at the slowest speed that the server allows, and much longer than most. */
const SENDING = '1 day';

export interface BuildFile {
  digest: string;
  size: number;
}

/** Returns the digests, each once, of files that the user has to send; the others are kept as if they had been sent now. */
export async function findMissingFiles(db: Db, userId: UserId, files: readonly BuildFile[]): Promise<string[]> {
  const digests = [...new Set(files.map(({ digest }) => digest))];
  const { rows } = await db.query<{ digest: string; size: number }>(
    `update build_files set used_at = now() where id in (
       select id from build_files where user_id = $1 and digest = any($2::text[]) and completed_at is not null
       order by id for no key update)
     returning digest, size_bytes as size`,
    [userId, digests],
  );
  const known = new Map(rows.map(({ digest, size }) => [digest, size]));
  const wrong = files.find(({ digest, size }) => known.has(digest) && known.get(digest) !== size);
  if (wrong) {
    const sizes = `has ${known.get(wrong.digest)} bytes, not ${wrong.size}`;
    throw new Failure('unprocessable', `The file with the digest ${wrong.digest} ${sizes}.`);
  }
  return digests.filter((digest) => !known.has(digest));
}

/** The stored beginning of an interrupted or running upload. */
export interface PartialFile {
  digest: string;
  bytes: number;
}

interface Part extends PartialFile {
  id: FileId;
  chunks: number;
}

/** Returns the stored bytes of incomplete files. Files without any, and small ones, are left out. */
export async function findPartialFiles(
  db: Db,
  userId: UserId,
  files: readonly BuildFile[],
  missing: readonly string[],
): Promise<PartialFile[]> {
  const wanted = new Set(missing);
  const large = files.filter(({ digest, size }) => wanted.has(digest) && size > CHUNK_BYTES);
  const parts = large.length === 0 ? [] : await findParts(db, userId, large);
  return parts.map(({ digest, bytes }) => ({ digest, bytes }));
}

/** Keeps the part with the most bytes of each file. */
async function findParts(db: Db, userId: UserId, files: readonly BuildFile[]): Promise<Part[]> {
  const { rows } = await db.query<Part>(
    `select distinct on (f.digest) f.id, f.digest, c.chunks, c.bytes
     from unnest($2::text[], $3::bigint[]) as wanted(digest, size)
     join build_files f on f.user_id = $1 and f.digest = wanted.digest and f.size_bytes = wanted.size
     cross join lateral (
       select count(*)::int as chunks, coalesce(sum(length(data)), 0)::int8 as bytes
       from build_file_chunks where file_id = f.id) c
     where f.completed_at is null and c.bytes > 0
     order by f.digest, c.bytes desc`,
    [userId, files.map(({ digest }) => digest), files.map(({ size }) => size)],
  );
  return rows;
}

/**
 * Stores a file of a user, piece by piece, so that neither memory nor a transaction holds it. Idempotent: one that is there is only read to
 * its end. Throws `unprocessable` if the content has another digest or size, `forbidden` over the limit `buildBytes`. If the content is
 * cut, the stored beginning is kept for a day: `content` may then resume at the byte `start`, where that ends. Throws `conflict` for
 * another offset, or if another request is resuming it.
 */
export async function storeFile(
  pool: Pool,
  userId: UserId,
  file: BuildFile,
  content: AsyncIterable<Buffer>,
  start = 0,
): Promise<void> {
  if ((await findMissingFiles(pool, userId, [file])).length === 0) return readToEnd(content);
  const part = start === 0 ? await beginFile(pool, userId, file) : await resumeFile(pool, userId, file, start);
  try {
    await storeChunks(pool, part, file, content);
  } catch (error) {
    if (isUniqueViolation(error)) throw wrongStart(file.digest, 'another request sends it');
    await (error instanceof Failure ? deleteFile(pool, part.id) : deleteIfEmpty(pool, part.id));
    throw error;
  }
  try {
    await pool.query('update build_files set completed_at = now(), used_at = now() where id = $1', [part.id]);
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    await deleteFile(pool, part.id); // another request has stored it meanwhile
  }
}

async function beginFile(db: Db, userId: UserId, { digest, size }: BuildFile): Promise<Part> {
  await checkBytes(db, userId, size);
  const id = newId<FileId>();
  await db.query('insert into build_files (id, user_id, digest, size_bytes) values ($1, $2, $3, $4)', [
    ...[id, userId, digest, size],
  ]);
  return { id, digest, chunks: 0, bytes: 0 };
}

async function resumeFile(db: Db, userId: UserId, file: BuildFile, start: number): Promise<Part> {
  const [part] = await findParts(db, userId, [file]);
  if (part?.bytes !== start) throw wrongStart(file.digest, `${part?.bytes ?? 0} bytes of it are there, not ${start}`);
  await db.query('update build_files set used_at = now() where id = $1', [part.id]);
  return part;
}

function wrongStart(digest: string, why: string): Failure {
  return new Failure('conflict', `The file with the digest ${digest} cannot be continued here: ${why}.`);
}

async function deleteFile(db: Db, id: FileId): Promise<void> {
  await db.query('delete from build_files where id = $1', [id]);
}

async function deleteIfEmpty(db: Db, id: FileId): Promise<void> {
  await db.query(
    'delete from build_files where id = $1 and not exists (select from build_file_chunks where file_id = $1)',
    [id],
  );
}

/**
 * Stores small files of a user, whose contents follow each other in `content`, all of them or none. Idempotent. Throws `unprocessable` if
 * one has another digest, or the sizes are not that of the content; `forbidden` over the limit `buildBytes`.
 */
export async function storePack(db: Db, userId: UserId, files: readonly BuildFile[], content: Buffer): Promise<void> {
  const contents = await cutPack(files, content, userId);
  const missing = await findMissingFiles(db, userId, files);
  if (missing.length === 0) return;
  const data = missing.map((digest) => contents.get(digest)!);
  await checkBytes(
    db,
    userId,
    data.reduce((sum, { length }) => sum + length, 0),
  );
  await db.query(
    `with sent as (select * from unnest($2::text[], $3::text[], $4::bytea[]) as s(id, digest, data)),
       stored as (
         insert into build_files (id, user_id, digest, size_bytes, completed_at)
         select id, $1, digest, length(data), now() from sent
         on conflict (user_id, digest) where completed_at is not null do nothing returning id)
     insert into build_file_chunks (file_id, number, data)
     select id, 0, data from sent join stored using (id) where length(data) > 0`,
    [userId, missing.map(() => newId<FileId>()), missing, data],
  );
}

/** Returns the contents by digest, checked. */
async function cutPack(files: readonly BuildFile[], content: Buffer, userId: UserId): Promise<Map<string, Buffer>> {
  const wanted = files.reduce((sum, { size }) => sum + size, 0);
  if (wanted !== content.length)
    throw new Failure('unprocessable', `The files have ${wanted} bytes together, and ${content.length} were sent.`);
  const contents = new Map<string, Buffer>();
  let start = 0;
  for (const { digest, size } of files) {
    const turn = takeTurn(userId);
    if (turn) await turn;
    const data = content.subarray(start, start + size);
    start += size;
    checkDigest(createHash('sha256').update(data).digest('hex'), digest);
    contents.set(digest, data);
  }
  return contents;
}

/** Appends to what is there. */
async function storeChunks(db: Db, part: Part, wanted: BuildFile, content: AsyncIterable<Buffer>): Promise<void> {
  const { id } = part;
  const hash = createHash('sha256');
  for await (const chunk of readChunks(db, id, part.bytes)) hash.update(chunk);
  let { bytes, chunks: number } = part;
  for await (const chunk of inChunks(content)) {
    bytes += chunk.length;
    if (bytes > wanted.size) break;
    hash.update(chunk);
    await db.query('insert into build_file_chunks (file_id, number, data) values ($1, $2, $3)', [id, number, chunk]);
    number += 1;
  }
  if (bytes !== wanted.size) {
    throw new Failure(
      'unprocessable',
      `The file has ${bytes > wanted.size ? 'more' : bytes} bytes, not ${wanted.size}.`,
    );
  }
  checkDigest(hash.digest('hex'), wanted.digest);
}

function checkDigest(digest: string, wanted: string): void {
  if (digest === wanted) return;
  throw new Failure('unprocessable', `The content has the digest ${digest}, not ${wanted}: it changed meanwhile.`);
}

/** Joins what arrives to pieces of 1 MiB; the last one may be smaller. */
async function* inChunks(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let bytes = 0;
  for await (const piece of content) {
    waiting.push(piece);
    bytes += piece.length;
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(waiting, bytes);
    waiting = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(waiting, bytes);
}

async function readToEnd(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of content);
}

async function checkBytes(db: Db, userId: UserId, more: number): Promise<void> {
  const { buildBytes: limit } = await readLimitsOf(db, userId);
  if (limit === null) return;
  const { rows } = await db.query<{ bytes: number }>(
    'select coalesce(sum(size_bytes), 0)::int8 as bytes from build_files where user_id = $1',
    [userId],
  );
  const used = rows[0]!.bytes;
  if (used + more > limit) throw overLimit('buildBytes', { limit, used, more });
}

/** Returns the contents of small files of a user by digest, without those that are not kept. */
export async function readPack(db: Db, userId: UserId, digests: readonly string[]): Promise<Map<string, Buffer>> {
  const { rows } = await db.query<{ digest: string; data: Buffer }>({
    name: 'build-pack',
    text: `select f.digest, coalesce(c.data, '') as data from build_files f
           left join build_file_chunks c on c.file_id = f.id and c.number = 0
           where f.user_id = $1 and f.digest = any($2::text[]) and f.completed_at is not null`,
    values: [userId, digests],
  });
  return new Map(rows.map(({ digest, data }) => [digest, data]));
}

/** Yields the content of a user's file, piece by piece. Throws `notFound`. */
export async function* readFile(db: Db, userId: UserId, digest: string): AsyncGenerator<Buffer> {
  const { rows } = await db.query<{ id: FileId; size: number }>(
    `select id, size_bytes as size from build_files where user_id = $1 and digest = $2 and completed_at is not null`,
    [userId, digest],
  );
  const file = rows[0];
  if (!file) throw notFound('File');
  yield* readChunks(db, file.id, file.size);
}

/** Yields the first `size` bytes, which end with a chunk. Throws `notFound`. */
async function* readChunks(db: Db, id: FileId, size: number): AsyncGenerator<Buffer> {
  for (let number = 0, left = size; left > 0; number += 1) {
    const chunk = await db.query<{ data: Buffer }>({
      name: 'build-file-chunk',
      text: 'select data from build_file_chunks where file_id = $1 and number = $2',
      values: [id, number],
    });
    if (!chunk.rows[0]) throw notFound('File');
    left -= chunk.rows[0].data.length;
    yield chunk.rows[0].data;
  }
}

/** Returns the files of a folder, each content once. */
export function filesOf(entries: readonly FolderEntry[]): BuildFile[] {
  const files = new Map<string, BuildFile>();
  for (const entry of entries)
    if ('digest' in entry) files.set(entry.digest, { digest: entry.digest, size: entry.size });
  return [...files.values()];
}

/** Deletes files that were not used for a week, and what was never sent to its end. */
export async function deleteOldFiles(db: Db): Promise<number> {
  const { rowCount } = await db.query(
    `delete from build_files f where f.used_at < now() - interval '${FILE_RETENTION}'
       or f.completed_at is null and f.used_at < now() - interval '${SENDING}'`,
  );
  return rowCount ?? 0;
}
