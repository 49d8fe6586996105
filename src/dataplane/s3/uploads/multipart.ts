import type { Folder } from '../../../runtimes/directories/folder.ts';
import { withSource } from '../copy-source.ts';
import { etagOf } from '../etag.ts';
import { dateOf } from '../file-time.ts';
import { toBytes } from '../listing/key-bytes.ts';
import { parseKey } from '../object-key.ts';
import { checkConditions } from '../read-object.ts';
import { keepingAlive, sendXml, type VolumeCall } from '../s3-call.ts';
import { S3Error } from '../s3-error.ts';
import { headerOf, numberOf } from '../s3-request.ts';
import { malformedXml, parseXml } from '../s3-xml.ts';
import { encodeStrictly } from '../signature.ts';
import { readPayload, readSmallBody } from './payload.ts';
import {
  createUpload,
  listParts,
  listUploads,
  MAX_PARTS,
  noSuchUpload,
  type Part,
  partName,
  removeUpload,
  withUpload,
} from './uploads.ts';
import { writeFile, writePart } from './write-file.ts';
import { charged, fileKeyOf, isNewOnly, mtimeOf } from './write-object.ts';

/** All parts but the last, as S3 has it. */
const MIN_PART_BYTES = 5 * 2 ** 20;
const MAX_BODY_BYTES = 4 * 2 ** 20;
const PAGE = 1_000;

/** CreateMultipartUpload. */
export async function beginUpload(call: VolumeCall): Promise<void> {
  const { deps, request, res, volume } = call;
  const { text: key } = fileKeyOf(request);
  const { id } = await createUpload(call, { key, startedMs: Date.now(), mtime: mtimeOf(request) });
  deps.logger.debug({ volumeId: volume.id }, 'upload in parts begun');
  sendXml(res, 200, 'InitiateMultipartUploadResult', { Bucket: volume.id, Key: key, UploadId: id });
}

/** UploadPart. */
export async function uploadPart(call: VolumeCall): Promise<void> {
  const { request, res, signing, root } = call;
  const number = partNumberOf(call);
  const payload = readPayload(request, signing);
  const part = await withUpload(root, uploadOf(call), (folder) =>
    charged(call, payload.length, () => replacePart(call, folder, number, payload.bytes())),
  );
  res.writeHead(200, { etag: etagOf(part), 'content-length': 0, ...payload.checksumHeaders() });
  res.end();
}

/** UploadPartCopy. */
export async function copyPart(call: VolumeCall): Promise<void> {
  const { request, res, root } = call;
  const number = partNumberOf(call);
  await withSource(call, async ({ file, stats, size }) => {
    checkConditions(request, stats, 'x-amz-copy-source-');
    if (file === null) throw new S3Error('InvalidRequest', 'A directory cannot be copied: copy its files.');
    const { start, end } = copiedRange(headerOf(request, 'x-amz-copy-source-range'), size);
    const length = end - start;
    const part = await keepingAlive(res, () =>
      withUpload(root, uploadOf(call), (folder) =>
        charged(call, length, () => {
          const content =
            length === 0
              ? nothing()
              : file.createReadStream({ start, end: end - 1, autoClose: false, highWaterMark: 2 ** 20 });
          return replacePart(call, folder, number, content);
        }),
      ),
    );
    sendXml(res, 200, 'CopyPartResult', {
      ETag: etagOf(part),
      LastModified: dateOf(Number(part.mtimeMs)).toISOString(),
    });
  });
}

/** Returns what to copy of a file. Throws `InvalidArgument` for a range that is not whole within it: a shorter part would go unnoticed. */
function copiedRange(range: string | undefined, size: number): { start: number; end: number } {
  if (range === undefined) return { start: 0, end: size };
  const [, first = '', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
  const [start, end] = [Number(first), Number(last) + 1];
  if (first === '' || start >= end || end > size)
    throw new S3Error('InvalidArgument', `x-amz-copy-source-range must be like bytes=0-9, within the ${size} bytes.`);
  return { start, end };
}

async function* nothing(): AsyncGenerator<Buffer> {}

async function replacePart(call: VolumeCall, folder: Folder, number: number, content: AsyncIterable<Buffer>) {
  const at = { uploadId: uploadOf(call).id, name: partName(number) };
  const { written, freedBytes } = await writePart(call, folder, at, content);
  return { value: written, freedBytes };
}

/** CompleteMultipartUpload: the parts become one file, and are removed only when it is there. */
export async function completeUpload(call: VolumeCall): Promise<void> {
  const { deps, request, res, signing, root, volume } = call;
  const key = parseKey(request.key);
  const mustBeNew = isNewOnly(request);
  const text = await readSmallBody(readPayload(request, signing), MAX_BODY_BYTES);
  const wanted = readWanted(text);
  const { id } = uploadOf(call);
  const written = await keepingAlive(res, async () => {
    const outcome = await withUpload(root, { id, key: key.text }, async (folder, { mtime }) => {
      const parts = choose(await listParts(folder), wanted);
      return writeFile(call, key, contentOf(folder, parts), { mustBeNew, mtime });
    });
    const [partBytes, size] = [await removeUpload(root, id), Number(outcome.written.size)];
    await deps.charges.add(volume.id, Math.min(0, size - partBytes - outcome.freedBytes));
    return outcome.written;
  });
  sendXml(res, 200, 'CompleteMultipartUploadResult', {
    Location: `/s3/${volume.id}/${encodeStrictly(key.text).replaceAll('%2F', '/')}`,
    ...{ Bucket: volume.id, Key: key.text, ETag: etagOf(written) },
  });
}

/** AbortMultipartUpload. */
export async function abortUpload(call: VolumeCall): Promise<void> {
  const { id } = uploadOf(call);
  await withUpload(call.root, uploadOf(call), async () => {});
  const bytes = await removeUpload(call.root, id);
  await call.deps.charges.add(call.volume.id, -bytes);
  call.res.writeHead(204, {});
  call.res.end();
}

/** ListParts. */
export async function sendParts(call: VolumeCall): Promise<void> {
  const { request, res, root, volume } = call;
  const upload = uploadOf(call);
  const after = numberOf(request, 'part-number-marker') ?? 0;
  const max = Math.min(numberOf(request, 'max-parts') ?? PAGE, PAGE);
  const { mtime, all } = await withUpload(root, upload, async (folder, { mtime }) => ({
    ...{ mtime, all: await listParts(folder) },
  }));
  const parts = all.filter(({ number }) => number > after);
  const page = parts.slice(0, max);
  const elements = {
    ...{ Bucket: volume.id, Key: upload.key, UploadId: upload.id },
    PartNumberMarker: after,
    NextPartNumberMarker: page.at(-1)?.number,
    MaxParts: max,
    IsTruncated: max > 0 && parts.length > page.length,
    Part: page.map(({ number, etag, size, modifiedMs }) => ({
      ...{ PartNumber: number, LastModified: dateOf(modifiedMs).toISOString(), ETag: etag, Size: size },
    })),
  };
  // So that a client that was killed knows the file whose parts it had sent.
  sendXml(res, 200, 'ListPartsResult', elements, { 'x-amz-meta-mtime': mtime ?? undefined });
}

/** ListMultipartUploads. */
export async function sendUploads({ request, res, root, volume }: VolumeCall): Promise<void> {
  const { query } = request;
  const prefix = query.get('prefix') ?? '';
  const [keyMarker, idMarker] = [query.get('key-marker') ?? '', query.get('upload-id-marker') ?? ''];
  const isAfter = ({ key, id }: { key: string; id: string }) =>
    toBytes(key) > toBytes(keyMarker) || (key === keyMarker && idMarker !== '' && id > idMarker);
  const max = Math.min(numberOf(request, 'max-uploads') ?? PAGE, PAGE);
  const isWanted = (upload: { key: string; id: string }) => upload.key.startsWith(prefix) && isAfter(upload);
  const uploads = await listUploads(root, { max: max + 1, isWanted });
  const page = uploads.slice(0, max);
  const isTruncated = max > 0 && uploads.length > page.length;
  sendXml(res, 200, 'ListMultipartUploadsResult', {
    ...{ Bucket: volume.id, Prefix: prefix, KeyMarker: keyMarker, UploadIdMarker: idMarker },
    NextKeyMarker: isTruncated ? page.at(-1)!.key : undefined,
    NextUploadIdMarker: isTruncated ? page.at(-1)!.id : undefined,
    ...{ MaxUploads: max, IsTruncated: isTruncated },
    Upload: page.map(({ id, key, startedMs }) => ({
      ...{ Key: key, UploadId: id, Initiated: dateOf(startedMs).toISOString(), StorageClass: 'STANDARD' },
    })),
  });
}

function uploadOf({ request }: VolumeCall): { id: string; key: string } {
  return { id: request.query.get('uploadId') ?? '', key: request.key };
}

function partNumberOf({ request }: VolumeCall): number {
  const text = request.query.get('partNumber') ?? '';
  const number = Number(text);
  if (/^\d{1,9}$/.test(text) && number >= 1 && number <= MAX_PARTS) return number;
  throw new S3Error('InvalidArgument', `Part number must be an integer between 1 and ${MAX_PARTS}, inclusive.`);
}

interface Wanted {
  number: number;
  etag: string;
}

function readWanted(text: string): Wanted[] {
  const { Part: parts } = parseXml(text, 'CompleteMultipartUpload');
  if (!Array.isArray(parts) || parts.length === 0 || parts.length > MAX_PARTS)
    throw malformedXml(`must name 1 to ${MAX_PARTS} parts`);
  return parts.map((part: { PartNumber?: unknown; ETag?: unknown }) => {
    const number = Number(part.PartNumber);
    if (!Number.isInteger(number) || typeof part.ETag !== 'string')
      throw malformedXml('has a part without number or ETag');
    return { number, etag: `"${part.ETag.trim().replace(/^"|"$/g, '')}"` };
  });
}

function choose(stored: readonly Part[], wanted: readonly Wanted[]): Part[] {
  const byNumber = new Map(stored.map((part) => [part.number, part]));
  if (wanted.some(({ number }, i) => i > 0 && number <= wanted[i - 1]!.number))
    throw new S3Error('InvalidPartOrder', 'The parts must be named in the order of their numbers.');
  const parts = wanted.map(({ number, etag }) => {
    const part = byNumber.get(number);
    if (part?.etag === etag) return part;
    throw new S3Error('InvalidPart', `Part ${number} is missing, or has another ETag: upload it again.`);
  });
  const small = parts.slice(0, -1).find(({ size }) => size < MIN_PART_BYTES);
  if (small)
    throw new S3Error('EntityTooSmall', `Part ${small.number} is smaller than 5 MiB, which only the last one may be.`);
  return parts;
}

async function* contentOf(folder: Folder, parts: readonly Part[]): AsyncGenerator<Buffer> {
  for (const { number, etag } of parts) {
    const file = await folder.openFile(partName(number)).catch(() => undefined);
    if (!file) throw noSuchUpload();
    try {
      if (etagOf(await file.stat({ bigint: true })) !== etag) throw noSuchUpload();
      for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: 2 ** 20 })) yield chunk;
    } finally {
      await file.close();
    }
  }
}
