import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { extname } from 'node:path';
import { readBulk } from '../../core/files/bulk-file-reads.ts';
import { type ByteRange, parseRange } from '../../core/text/byte-range.ts';
import { codeOf, within } from '../../runtimes/directories/folder.ts';
import { etagOf, namesEtag } from './etag.ts';
import { dateOf, mtimeText } from './file-time.ts';
import { type ObjectKey, parseKey } from './object-key.ts';
import type { VolumeCall } from './s3-call.ts';
import { noSuchKey, S3Error } from './s3-error.ts';
import { headerOf, type S3Request } from './s3-request.ts';

/** Types that browsers show, and those that people store most; all others are bytes. */
const TYPES: Record<string, string> = {
  '.csv': 'text/csv',
  '.gif': 'image/gif',
  '.html': 'text/html',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.json': 'application/json',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.mp3': 'audio/mpeg',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.py': 'text/x-python',
  '.svg': 'image/svg+xml',
  '.tar': 'application/x-tar',
  '.txt': 'text/plain',
  '.wav': 'audio/wav',
  '.webp': 'image/webp',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
};

/** Headers of the response that clients may replace. */
const OVERRIDES = [
  'content-type',
  'content-language',
  'expires',
  'cache-control',
  'content-disposition',
  'content-encoding',
] as const;

/** GetObject and HeadObject. */
export async function readObject(call: VolumeCall): Promise<void> {
  const key = parseKey(call.request.key);
  const opened = await openObject(call.root, key);
  try {
    await answer(call, key, opened);
  } finally {
    await opened.file?.close();
  }
}

/** A file that is open for reading, or a directory. */
export interface OpenObject {
  file: FileHandle | null;
  stats: BigIntStats;
  size: number;
}

/** Throws `NoSuchKey` for what is neither a file nor, with a slash at its end, a directory. */
export async function openObject(root: VolumeCall['root'], key: ObjectKey): Promise<OpenObject> {
  try {
    return await within(root, key.parents, false, async (folder) => {
      if (key.isDirectory) {
        const stats = await folder.look(key.name);
        if (!stats.isDirectory()) throw noSuchKey();
        return { file: null, stats, size: 0 };
      }
      const file = await folder.openFile(key.name);
      if (!file) throw noSuchKey();
      const stats = await file.stat({ bigint: true });
      return { file, stats, size: Number(stats.size) };
    });
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error) ?? '')) throw noSuchKey();
    throw error;
  }
}

/** Throws `PreconditionFailed` where a condition on what is there does not hold. `prefix`: of the headers' names. */
export function checkConditions(request: S3Request, stats: BigIntStats, prefix = ''): 'send' | 'notModified' {
  const get = (name: string) => headerOf(request, prefix + name);
  const etag = etagOf(stats);
  const seconds = Math.floor(Number(stats.mtimeMs) / 1_000);
  const failed = (name: string) => new S3Error('PreconditionFailed', `The condition ${prefix}${name} does not hold.`);
  const [match, noneMatch] = [get('if-match'), get('if-none-match')];
  const [since, unmodifiedSince] = [timeOf(get('if-modified-since')), timeOf(get('if-unmodified-since'))];
  if (match !== undefined) {
    if (!namesEtag(match, etag)) throw failed('if-match');
  } else if (unmodifiedSince !== null && seconds > unmodifiedSince) throw failed('if-unmodified-since');
  const isNotModified = noneMatch !== undefined ? namesEtag(noneMatch, etag) : since !== null && seconds <= since;
  if (!isNotModified) return 'send';
  if (prefix !== '') throw failed(noneMatch !== undefined ? 'if-none-match' : 'if-modified-since');
  return 'notModified';
}

/** In whole seconds since 1970; null: no such time. */
function timeOf(header: string | undefined): number | null {
  const ms = Date.parse(header ?? '');
  return Number.isNaN(ms) ? null : Math.floor(ms / 1_000);
}

/** Returns null for the whole, as also for several ranges. Throws `InvalidRange` for one that begins behind the end. */
function rangeOf(header: string | undefined, size: number): ByteRange | null {
  const range = parseRange(header, size);
  if (range !== 'behind') return range;
  throw new S3Error('InvalidRange', `The file has ${size} bytes: the range begins behind its end.`);
}

async function answer(
  { request, res, actor }: VolumeCall,
  key: ObjectKey,
  { file, stats, size }: OpenObject,
): Promise<void> {
  const headers: Record<string, string | number> = {
    etag: etagOf(stats),
    'last-modified': dateOf(Number(stats.mtimeMs)).toUTCString(),
    'accept-ranges': 'bytes',
    'x-amz-meta-mtime': mtimeText(stats),
  };
  if (checkConditions(request, stats) === 'notModified') {
    res.writeHead(304, headers);
    res.end();
    return;
  }
  const range = rangeOf(headerOf(request, 'range'), size);
  headers['content-type'] = key.isDirectory
    ? 'application/x-directory'
    : (TYPES[extname(key.name).toLowerCase()] ?? 'application/octet-stream');
  for (const name of OVERRIDES) {
    const value = request.query.get(`response-${name}`);
    if (value !== undefined && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)) headers[name] = value;
  }
  const length = range === null ? size : range.end - range.start;
  headers['content-length'] = length;
  if (range !== null) headers['content-range'] = `bytes ${range.start}-${range.end - 1}/${size}`;
  res.writeHead(range === null ? 200 : 206, headers);
  if (request.method === 'HEAD' || file === null || length === 0) res.end();
  else await send(res, file, { start: range?.start ?? 0, length, reader: actor.userId });
}

/** Cuts the connection where the file has become shorter: the client must not take a part for the whole. */
async function send(
  res: VolumeCall['res'],
  file: FileHandle,
  { start, length, reader }: { start: number; length: number; reader: string },
): Promise<void> {
  const read = async (buffer: Buffer, at: number) => {
    const bytesRead = await readBulk(reader, file, buffer, at);
    if (bytesRead === 0) throw new Error('the file became shorter');
    return bytesRead;
  };
  try {
    await res.send({ start, length, read });
    res.end();
  } catch {
    res.destroy();
  }
}
