import { once } from 'node:events';
import { readdir, stat, utimes } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type S3Person, type S3TestServer, startS3Server } from '../../../../test/s3-server.ts';
import type { VolumeId } from '../../../core/ids.ts';

const MIB = 2 ** 20;

let server: S3TestServer;
let alice: S3Person;
let s3: S3Client;
let Bucket: VolumeId;
beforeAll(async () => {
  server = await startS3Server();
  alice = await server.addPerson('alice');
  Bucket = await server.addVolume(alice);
  s3 = server.client(await server.addKey(alice, 'files:write'));
});
afterAll(() => server.close());

const begin = async (Key: string) => (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))).UploadId!;
const part = async (Key: string, UploadId: string, PartNumber: number, Body: string | Buffer) => {
  const { ETag } = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }));
  return { PartNumber, ETag };
};
const complete = (Key: string, UploadId: string, Parts: { PartNumber: number; ETag: string | undefined }[]) =>
  s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }));
const abort = (Key: string, UploadId: string) => s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }));
const hidden = () => readdir(join(server.pathOf(Bucket), '.podyard-s3'));
const usedBytes = async () =>
  (await server.database.pool.query('select used_bytes::int8 as used from network_volumes where id = $1', [Bucket]))
    .rows[0].used;

test('parts in any order become one file, and nothing else is left', async () => {
  const before = await usedBytes();
  const id = await begin('dir/whole');
  const second = await part('dir/whole', id, 7, 'end');
  const first = await part('dir/whole', id, 2, Buffer.alloc(5 * MIB, 'a'));
  const again = await part('dir/whole', id, 7, 'END');
  expect(second.ETag).not.toBe(again.ETag);
  const { ETag } = await complete('dir/whole', id, [first, again]);
  const read = await s3.send(new GetObjectCommand({ Bucket, Key: 'dir/whole' }));
  expect(read).toMatchObject({ ETag, ContentLength: 5 * MIB + 3 });
  expect((await read.Body!.transformToString()).slice(-4)).toBe('aEND');
  expect(await hidden()).toEqual([]);
  expect(await usedBytes()).toBe(before + 5 * MIB + 3);
});

test('uploads and parts can be listed, and aborted', async () => {
  const before = await usedBytes();
  const id = await begin('b/later');
  const other = await begin('a/first');
  const parts = [await part('b/later', id, 1, 'one'), await part('b/later', id, 3, 'three')];
  const { Uploads } = await s3.send(new ListMultipartUploadsCommand({ Bucket }));
  expect(Uploads).toMatchObject([
    { Key: 'a/first', UploadId: other },
    { Key: 'b/later', UploadId: id, Initiated: expect.any(Date) },
  ]);
  const listed = await s3.send(new ListPartsCommand({ Bucket, Key: 'b/later', UploadId: id }));
  expect(listed.Parts).toMatchObject(parts.map((one, i) => ({ ...one, Size: [3, 5][i] })));
  const page = await s3.send(new ListPartsCommand({ Bucket, Key: 'b/later', UploadId: id, MaxParts: 1 }));
  expect(page).toMatchObject({ IsTruncated: true, NextPartNumberMarker: '1' });
  const keys = (await s3.send(new ListObjectsV2Command({ Bucket }))).Contents?.map(({ Key }) => Key) ?? [];
  expect(keys.some((key) => key?.includes('later') || key?.includes('podyard'))).toBe(false);
  await abort('b/later', id);
  await abort('a/first', other);
  expect(await hidden()).toEqual([]);
  expect(await usedBytes()).toBe(before);
  await expect(part('b/later', id, 1, 'x')).rejects.toMatchObject({ name: 'NoSuchUpload' });
  await expect(abort('b/later', id)).rejects.toMatchObject({ name: 'NoSuchUpload' });
});

test('pages of uploads have each once, in the order of the bytes of their keys', async () => {
  const keys = ['a', 'a', '～', '😀']; // in UTF-16 the last one comes before the third
  const begun: { Key: string; UploadId: string }[] = [];
  for (const Key of keys) begun.push({ Key, UploadId: await begin(Key) });
  const seen: { Key: string; UploadId: string }[] = [];
  let markers: { KeyMarker?: string; UploadIdMarker?: string } = {};
  for (let isMore = true; isMore; ) {
    const page = await s3.send(new ListMultipartUploadsCommand({ Bucket, MaxUploads: 1, ...markers }));
    for (const { Key, UploadId } of page.Uploads ?? []) seen.push({ Key: Key!, UploadId: UploadId! });
    markers = { KeyMarker: page.NextKeyMarker!, UploadIdMarker: page.NextUploadIdMarker! };
    isMore = page.IsTruncated!;
  }
  expect(seen.map(({ Key }) => Key)).toEqual(keys);
  expect(new Set(seen.map(({ UploadId }) => UploadId))).toEqual(new Set(begun.map(({ UploadId }) => UploadId)));
  for (const { Key, UploadId } of begun) await abort(Key, UploadId);
});

test('of several puts that replace one part, one alone gives back its bytes', async () => {
  const id = await begin('replaced');
  await part('replaced', id, 1, Buffer.alloc(5 * MIB));
  await server.database.pool.query('update network_volumes set used_bytes = 1000000000 where id = $1', [Bucket]);
  const { hostname, port } = new URL(server.endpoint);
  const head = [
    `PUT /s3/${Bucket}/replaced?uploadId=${id}&partNumber=1 HTTP/1.1`,
    ...['Host: x', `Authorization: Bearer ${alice.apiKey}`, 'Content-Length: 1'],
  ];
  const sockets = Array.from({ length: 20 }, () => connect(Number(port), hostname));
  for (const socket of sockets) socket.write(`${head.join('\r\n')}\r\n\r\n`);
  const files = () => readdir(join(server.pathOf(Bucket), '.podyard-s3', `upload-${id}`));
  await expect.poll(files, { timeout: 30_000 }).toHaveLength(22); // all have begun: with the part and the record
  const answers = sockets.map((socket) => once(socket, 'data'));
  for (const socket of sockets) socket.write('x');
  for (const [text] of await Promise.all(answers)) expect(String(text)).toContain('200 OK');
  for (const socket of sockets) socket.destroy();
  expect(await usedBytes()).toBe(1_000_000_000 - 5 * MIB + 1);
  await abort('replaced', id);
  await server.database.pool.query('update network_volumes set used_bytes = 0 where id = $1', [Bucket]);
});

test('parts that are missing, changed, out of order or too small are refused, and the upload goes on', async () => {
  const id = await begin('strict');
  const [one, two] = [await part('strict', id, 1, 'small'), await part('strict', id, 2, 'end')];
  const refused = (parts: Parameters<typeof complete>[2]) => complete('strict', id, parts).catch(({ name }) => name);
  expect(await refused([one, two])).toBe('EntityTooSmall');
  expect(await refused([two, one])).toBe('InvalidPartOrder');
  expect(await refused([one, { PartNumber: 5, ETag: two.ETag }])).toBe('InvalidPart');
  expect(await refused([{ PartNumber: 2, ETag: '"other"' }])).toBe('InvalidPart');
  expect(await refused([])).toBe('MalformedXML');
  await complete('strict', id, [one]);
  await expect(complete('strict', id, [one])).rejects.toMatchObject({ name: 'NoSuchUpload' });
});

test('part numbers end at 10,000, and so do the parts of a completion', async () => {
  const id = await begin('many');
  for (const number of [0, 10_001, 1_000_000])
    await expect(part('many', id, number, 'x')).rejects.toMatchObject({ name: 'InvalidArgument' });
  const parts = Array.from({ length: 10_001 }, (_, i) => ({ PartNumber: i + 1, ETag: '"x"' }));
  await expect(complete('many', id, parts)).rejects.toMatchObject({ name: 'MalformedXML' });
  const million = '<Part><PartNumber>1</PartNumber><ETag>x</ETag></Part>'.repeat(1_000_000);
  const response = await fetch(`${server.endpoint}/${Bucket}/many?uploadId=${id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${alice.apiKey}` },
    body: `<CompleteMultipartUpload>${million}</CompleteMultipartUpload>`,
  });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('MalformedXML')]);
  await abort('many', id);
});

test('an abort while an upload is completed leaves the whole file or none', async () => {
  for (let round = 0; round < 4; round++) {
    const Key = `raced-${round}`;
    const id = await begin(Key);
    const parts = [await part(Key, id, 1, Buffer.alloc(5 * MIB, 'a')), await part(Key, id, 2, 'end')];
    const [completed] = await Promise.allSettled([complete(Key, id, parts), abort(Key, id)]);
    const size = await stat(join(server.pathOf(Bucket), Key)).then(
      (found) => found.size,
      () => 0,
    );
    if (completed.status === 'rejected') expect(completed.reason).toMatchObject({ name: 'NoSuchUpload' });
    expect(size).toBe(completed.status === 'fulfilled' ? 5 * MIB + 3 : 0);
    expect(await hidden()).toEqual([]);
  }
});

test('a part can be copied from a range of another file', async () => {
  await s3.send(new PutObjectCommand({ Bucket, Key: 'digits', Body: '0123456789' }));
  const id = await begin('from-copy');
  const copied = await s3.send(
    new UploadPartCopyCommand({
      ...{ Bucket, Key: 'from-copy', UploadId: id, PartNumber: 1 },
      ...{ CopySource: `${Bucket}/digits`, CopySourceRange: 'bytes=2-5' },
    }),
  );
  await complete('from-copy', id, [{ PartNumber: 1, ETag: copied.CopyPartResult!.ETag }]);
  const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: 'from-copy' }));
  expect(await Body!.transformToString()).toBe('2345');
});

test('an upload id is valid for its own key and volume only, and is no path', async () => {
  const id = await begin('mine');
  await expect(part('other', id, 1, 'x')).rejects.toMatchObject({ name: 'NoSuchUpload' });
  for (const wrong of ['../../x', '..', '', 'upload-x'])
    await expect(abort('mine', wrong)).rejects.toMatchObject({ name: 'NoSuchUpload' });
  await abort('mine', id);
  expect(await hidden()).toEqual([]);
});

test('what a killed server left is swept when it is old, and not before', async () => {
  const id = await begin('abandoned');
  await part('abandoned', id, 1, 'x');
  const owner = { kind: 'volume' as const, dataCenterId: 'EU-RO-1', id: Bucket };
  await server.storage.sweepUploads(owner);
  expect(await hidden()).toEqual([`upload-${id}`]);
  const old = new Date(Date.now() - 8 * 24 * 3_600_000);
  await utimes(join(server.pathOf(Bucket), '.podyard-s3', `upload-${id}`), old, old);
  await server.storage.sweepUploads(owner);
  expect(await hidden()).toEqual([]);
});
