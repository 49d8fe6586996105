import { codeOf, within } from '../../../runtimes/directories/folder.ts';
import { withSource } from '../copy-source.ts';
import { etagOf } from '../etag.ts';
import { dateOf } from '../file-time.ts';
import { type ObjectKey, parseKey } from '../object-key.ts';
import { checkConditions, openObject } from '../read-object.ts';
import { keepingAlive, sendXml, type VolumeCall } from '../s3-call.ts';
import { noSuchKey, S3Error } from '../s3-error.ts';
import { headerOf, type S3Request } from '../s3-request.ts';
import { type Payload, readPayload } from './payload.ts';
import { writeFile } from './write-file.ts';

/** PutObject. */
export async function putObject(call: VolumeCall): Promise<void> {
  const { request, res, signing } = call;
  const key = parseKey(request.key);
  const payload = readPayload(request, signing);
  const etag = key.isDirectory ? await makeDirectory(call, key, payload) : await store(call, key, payload);
  res.writeHead(200, { etag, 'content-length': 0, ...payload.checksumHeaders() });
  res.end();

  async function makeDirectory({ root }: VolumeCall, { parents, name }: ObjectKey, { length }: Payload) {
    if (length > 0) throw noContent();
    for await (const _ of payload.bytes()); // checks what was signed
    return within(root, [...parents, name], true, async ({ handle }) => etagOf(await handle.stat({ bigint: true })));
  }

  async function store(call: VolumeCall, key: ObjectKey, payload: Payload) {
    const options = { mustBeNew: isNewOnly(request), mtime: mtimeOf(request), bytes: payload.length };
    return charged(call, payload.length, async () => {
      const { written, freedBytes } = await writeFile(call, key, payload.bytes(), options);
      return { value: etagOf(written), freedBytes };
    });
  }
}

/** CopyObject. A copy onto itself sets the file's time, which is what clients do it for. */
export async function copyObject(call: VolumeCall): Promise<void> {
  const { request, res, root, volume } = call;
  const key = fileKeyOf(request);
  const mtime = mtimeOf(request);
  const options = { mustBeNew: isNewOnly(request), mtime };
  await withSource(call, async (source, sourceVolumeId, sourceKey) => {
    checkConditions(request, source.stats, 'x-amz-copy-source-');
    const isReplaced = headerOf(request, 'x-amz-metadata-directive') === 'REPLACE';
    const isItself = sourceVolumeId === volume.id && sourceKey.text === key.text;
    if (isItself && !isReplaced)
      throw new S3Error(
        'InvalidRequest',
        'A copy of a file onto itself changes nothing without x-amz-metadata-directive REPLACE.',
      );
    if (source.file === null) throw new S3Error('InvalidRequest', 'A directory cannot be copied: copy its files.');
    const { file, size } = source;
    const stats = await keepingAlive(res, () =>
      isItself && mtime !== null
        ? touch(root, key, mtime)
        : charged(call, size, async () => {
            const kept = mtime ?? (isReplaced ? null : Number(source.stats.mtimeMs) / 1_000);
            const content = file.createReadStream({ autoClose: false, highWaterMark: 2 ** 20 });
            const { written, freedBytes } = await writeFile(call, key, content, { ...options, mtime: kept });
            return { value: written, freedBytes };
          }),
    );
    sendXml(res, 200, 'CopyObjectResult', {
      ETag: etagOf(stats),
      LastModified: dateOf(Number(stats.mtimeMs)).toISOString(),
    });
  });
}

/**
 * Counts bytes against the volume before they are written, and gives them back if that fails. Throws `QuotaExceeded`. The count is
 * corrected when the volume is next measured.
 */
export async function charged<T>(
  { deps: { charges }, volume }: Pick<VolumeCall, 'deps' | 'volume'>,
  bytes: number,
  work: () => Promise<{ value: T; freedBytes: number }>,
): Promise<T> {
  if (!(await charges.add(volume.id, bytes)))
    throw new S3Error(
      'QuotaExceeded',
      `The network volume has ${volume.sizeGb} GB, which are in use: enlarge it or delete files.`,
    );
  let leftBytes = bytes;
  try {
    const { value, freedBytes } = await work();
    leftBytes = freedBytes;
    return value;
  } finally {
    if (leftBytes > 0) await charges.add(volume.id, -leftBytes);
  }
}

async function touch(root: VolumeCall['root'], key: ObjectKey, mtime: number) {
  const { file, stats } = await openObject(root, key);
  if (file === null) return stats;
  try {
    await file.utimes(mtime, mtime);
    return await file.stat({ bigint: true });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw noSuchKey();
    throw error;
  } finally {
    await file.close();
  }
}

/** Returns the key of a request that only a file can have. Throws `InvalidArgument`. */
export function fileKeyOf(request: S3Request): ObjectKey {
  const key = parseKey(request.key);
  if (key.isDirectory) throw noContent();
  return key;
}

function noContent(): S3Error {
  return new S3Error('InvalidArgument', 'A key that ends with a slash is a directory, which has no content.');
}

/** Headers of writes that change what is written, or whether it is: none of them may be left undone without a word. */
const UNSUPPORTED =
  /^(?:x-amz-server-side-encryption.*|x-amz-object-lock.*|x-amz-tagging|x-amz-write-offset-bytes|x-amz-if-match-.*|content-range)$/;

/** Throws `NotImplemented` for a write that is meant otherwise than it would be done. */
export function refuseUnsupported(request: S3Request): void {
  const found = Object.keys(request.req.headers).find((name) => UNSUPPORTED.test(name));
  if (found !== undefined)
    throw new S3Error('NotImplemented', `${found} is not supported: a file is stored as a whole, and as it is.`);
  if (headerOf(request, 'if-match') !== undefined)
    throw new S3Error('NotImplemented', 'If-Match is not supported for writing: use If-None-Match: *.');
}

export function isNewOnly(request: S3Request): boolean {
  const value = headerOf(request, 'if-none-match');
  if (value !== undefined && value.trim() !== '*')
    throw new S3Error('NotImplemented', 'If-None-Match must be * for writing.');
  return value !== undefined;
}

/** The time that rclone gives a file; other metadata is not kept. */
export function mtimeOf(request: S3Request): number | null {
  const text = headerOf(request, 'x-amz-meta-mtime') ?? '';
  return /^\d{1,11}(\.\d{1,9})?$/.test(text) ? Number(text) : null;
}
