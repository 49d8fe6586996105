import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type S3Person, type S3TestServer, startS3Server } from '../../../test/s3-server.ts';
import type { VolumeId } from '../../core/ids.ts';

let server: S3TestServer;
let alice: S3Person;
let s3: S3Client;
let Bucket: VolumeId;
let path: string;
beforeAll(async () => {
  server = await startS3Server();
  alice = await server.addPerson('alice');
  Bucket = await server.addVolume(alice);
  path = server.pathOf(Bucket);
  s3 = server.client(await server.addKey(alice, 'files:write'));
});
afterAll(() => server.close());

const put = (Key: string, Body: string | Buffer = 'x', more: object = {}) =>
  s3.send(new PutObjectCommand({ Bucket, Key, Body, ...more }));
const get = async (Key: string, more: object = {}) => {
  const { Body, ...rest } = await s3.send(new GetObjectCommand({ Bucket, Key, ...more }));
  return { ...rest, text: await Body!.transformToString() };
};
const list = (more: object = {}) => s3.send(new ListObjectsV2Command({ Bucket, ...more }));
const keysOf = async (more: object = {}) => (await list(more)).Contents?.map(({ Key }) => Key) ?? [];
const hidden = () => readdir(join(path, '.podyard-s3'));

describe('files are objects', () => {
  test('what is put is a file that any user of a pod may change, and what a pod writes is an object', async () => {
    await put('a/b/put.txt', 'by S3');
    expect(await readFile(join(path, 'a/b/put.txt'), 'utf8')).toBe('by S3');
    expect((await stat(join(path, 'a/b/put.txt'))).mode & 0o777).toBe(0o666);
    expect((await stat(join(path, 'a/b'))).mode & 0o777).toBe(0o777);
    await writeFile(join(path, 'a/pod.txt'), 'by a pod');
    expect(await get('a/pod.txt')).toMatchObject({ text: 'by a pod', ContentType: 'text/plain', ContentLength: 8 });
    expect(await hidden()).toEqual([]);
  });

  test('the ETag of a put is that of later reads, until a pod changes the file', async () => {
    const { ETag } = await put('etag', 'one');
    expect(ETag).toMatch(/^"[0-9a-f]{32}-1"$/);
    expect((await get('etag')).ETag).toBe(ETag);
    expect((await get('etag', { IfMatch: ETag })).text).toBe('one');
    await writeFile(join(path, 'etag'), 'three');
    await expect(get('etag', { IfMatch: ETag })).rejects.toMatchObject({ name: 'PreconditionFailed' });
    expect((await s3.send(new HeadObjectCommand({ Bucket, Key: 'etag' }))).ETag).not.toBe(ETag);
  });

  test('a large body arrives whole, and its checksum is returned', async () => {
    const body = Buffer.alloc(3 * 2 ** 20, 'large');
    const { ChecksumCRC32 } = await put('large', body);
    expect(ChecksumCRC32).toMatch(/=$/);
    const { text } = await get('large');
    expect(createHash('md5').update(text).digest('hex')).toBe(createHash('md5').update(body).digest('hex'));
  });

  test.each(['CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'])(
    'the checksum %s is compared with the content',
    async (algorithm) => {
      // Check values of the bytes 123456789 from the algorithms' definitions.
      const right = {
        CRC32C: 'e3069283',
        CRC64NVME: 'ae8b14860a799888',
        SHA1: createHash('sha1').update('123456789').digest('hex'),
        SHA256: createHash('sha256').update('123456789').digest('hex'),
      }[algorithm]!;
      const name = `Checksum${algorithm}`;
      const value = Buffer.from(right, 'hex').toString('base64');
      expect(await put('sum', '123456789', { [name]: value })).toMatchObject({ [name]: value });
      await expect(put('sum', '12345678X', { [name]: value })).rejects.toMatchObject({ name: 'BadDigest' });
      expect((await get('sum')).text).toBe('123456789');
    },
  );

  test('a put over a file replaces it as a whole: what is open of it stays as it was', async () => {
    await put('over', 'before');
    const reading = await s3.send(new GetObjectCommand({ Bucket, Key: 'over' }));
    await put('over', 'after!');
    expect(await reading.Body!.transformToString()).toBe('before');
    expect((await get('over')).text).toBe('after!');
  });

  test('with If-None-Match: * only the first of several puts succeeds', async () => {
    const puts = await Promise.allSettled(['1', '2', '3'].map((body) => put('once', body, { IfNoneMatch: '*' })));
    expect(puts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of puts) if (one.status === 'rejected') expect(one.reason.name).toBe('PreconditionFailed');
  });

  test('a time given as rclone gives it becomes the file’s, and is returned', async () => {
    await put('dated', 'x', { Metadata: { mtime: '1600000000.5' } });
    expect((await stat(join(path, 'dated'))).mtimeMs).toBe(1_600_000_000_500);
    expect((await get('dated')).Metadata).toEqual({ mtime: '1600000000.500000000' });
  });

  test('an empty file is an object', async () => {
    await put('empty', '');
    expect(await get('empty')).toMatchObject({ text: '', ContentLength: 0 });
  });
});

describe('a read', () => {
  beforeAll(() => put('digits', '0123456789'));

  test.each([
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-2', '89', 'bytes 8-9/10'],
    ['bytes=5-500', '56789', 'bytes 5-9/10'],
  ])('with the range %s returns it', async (Range, text, ContentRange) => {
    expect(await get('digits', { Range })).toMatchObject({ text, ContentRange });
  });

  test('with a range behind the end is InvalidRange; with several ranges it returns everything', async () => {
    await expect(get('digits', { Range: 'bytes=10-' })).rejects.toMatchObject({ name: 'InvalidRange' });
    expect((await get('digits', { Range: 'bytes=0-1,4-5' })).text).toBe('0123456789');
  });

  test('with conditions that do not hold is 304 or 412', async () => {
    const { ETag, LastModified } = await get('digits');
    const statusOf = (more: object) =>
      get('digits', more).then(
        ({ $metadata }) => $metadata,
        ({ $metadata }) => $metadata,
      );
    expect(await statusOf({ IfNoneMatch: ETag })).toMatchObject({ httpStatusCode: 304 });
    expect(await statusOf({ IfModifiedSince: LastModified })).toMatchObject({ httpStatusCode: 304 });
    expect(await statusOf({ IfMatch: '"other"' })).toMatchObject({ httpStatusCode: 412 });
    expect(await statusOf({ IfUnmodifiedSince: new Date(0) })).toMatchObject({ httpStatusCode: 412 });
    expect(await statusOf({ IfNoneMatch: '"other"', IfUnmodifiedSince: new Date() })).toMatchObject({
      httpStatusCode: 200,
    });
  });

  test('may name the headers of its response', async () => {
    const more = { ResponseContentType: 'text/x-mine', ResponseContentDisposition: 'attachment' };
    expect(await get('digits', more)).toMatchObject({ ContentType: 'text/x-mine', ContentDisposition: 'attachment' });
  });

  test('of a page shows it without its scripts', async () => {
    await put('page.html', '<script>steal()</script>');
    const response = await fetch(`${server.endpoint}/${Bucket}/page.html`, {
      headers: { authorization: `Bearer ${alice.apiKey}` },
    });
    expect(await response.text()).toContain('steal');
    expect(response.headers.get('content-security-policy')).toMatch(/^sandbox;/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('directories', () => {
  test('are prefixes; an empty one is an object whose key ends with a slash', async () => {
    await put('dirs/', '');
    await mkdir(join(path, 'dirs/by-pod'));
    expect(await keysOf({ Prefix: 'dirs/' })).toEqual(['dirs/by-pod/']);
    await put('dirs/by-pod/file');
    expect(await keysOf({ Prefix: 'dirs/' })).toEqual(['dirs/by-pod/file']);
    const page = await list({ Prefix: 'dirs/', Delimiter: '/' });
    expect(page.CommonPrefixes).toEqual([{ Prefix: 'dirs/by-pod/' }]);
    expect(page.Contents).toBeUndefined();
    expect(await get('dirs/by-pod/')).toMatchObject({ text: '', ContentType: 'application/x-directory' });
  });

  test('cannot be read, or replaced by a file, and a file cannot be used as one', async () => {
    await put('tree/leaf');
    await expect(get('tree')).rejects.toMatchObject({ name: 'NoSuchKey' });
    await expect(put('tree')).rejects.toMatchObject({ name: 'ExistingObjectIsDirectory' });
    await expect(put('tree/leaf/more')).rejects.toMatchObject({ name: 'ObjectParentIsFile' });
    await expect(put('tree/leaf/', '')).rejects.toMatchObject({ name: 'ObjectParentIsFile' });
    await expect(put('tree/', 'content')).rejects.toMatchObject({ name: 'InvalidArgument' });
    await expect(get('tree/leaf/more')).rejects.toMatchObject({ name: 'NoSuchKey' });
    expect(await hidden()).toEqual([]);
  });

  test('are deleted only when they are empty, and stay when their last file is deleted', async () => {
    await put('kept/file');
    const remove = (Key: string) => s3.send(new DeleteObjectCommand({ Bucket, Key }));
    await remove('kept/');
    expect(await keysOf({ Prefix: 'kept' })).toEqual(['kept/file']);
    await remove('kept');
    await remove('kept/file');
    expect(await keysOf({ Prefix: 'kept' })).toEqual(['kept/']);
    await remove('kept/');
    expect(await keysOf({ Prefix: 'kept' })).toEqual([]);
    await remove('kept/file'); // again: S3 does not tell
  });
});

describe('a key', () => {
  const emoji = '😀'.repeat(256);
  let names = 0;

  test.each([
    ['a//b', 'InvalidArgument'],
    ['/a', 'InvalidArgument'],
    ['.', 'InvalidArgument'],
    ['..', 'InvalidArgument'],
    ['a/../../b', 'InvalidArgument'],
    ['a/./b', 'InvalidArgument'],
    ['zero\0byte', 'InvalidArgument'],
    ['.podyard-s3/put-x', 'InvalidArgument'],
    [emoji, 'KeyTooLongError'],
    [`${emoji}/`, 'KeyTooLongError'],
    ['n'.repeat(256), 'KeyTooLongError'],
    [`${'a/'.repeat(512)}b`, 'KeyTooLongError'],
  ])('%j is refused for every operation', async (Key, name) => {
    await expect(put(Key)).rejects.toMatchObject({ name });
    await expect(get(Key)).rejects.toMatchObject({ name });
    await expect(s3.send(new DeleteObjectCommand({ Bucket, Key }))).rejects.toMatchObject({ name });
  });

  test.each([
    'with space and +plus',
    '100%25',
    'quotes\'"&<>',
    'ünï/código.txt',
    '😀'.repeat(63),
    [63, 63, 63, 63, 1].map((count) => '😀'.repeat(count)).join('/'), // 1,024 bytes with the folder that this test adds
    'x'.repeat(255),
    'line\nbreak\tand\u0001control',
    '-dash',
    '...',
    'a?b=c#d',
    '日本/語',
    'semi;colon*(star)!~',
  ])('%j can be put, listed, read and deleted', async (name) => {
    names += 1;
    const key = `names-${names}/${name}`;
    await put(key, key);
    expect(await keysOf({ Prefix: `names-${names}/` })).toEqual([key]);
    const encoded = (await list({ Prefix: `names-${names}/`, EncodingType: 'url' })).Contents![0]!.Key!;
    expect(decodeURIComponent(encoded)).toBe(key);
    expect((await get(key)).text).toBe(key);
    const { Deleted, Errors } = await s3.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key: key }] } }),
    );
    expect([Deleted, Errors]).toEqual([[{ Key: key }], undefined]);
  });

  test('that nothing has is NoSuchKey', async () => {
    await expect(get('nowhere')).rejects.toMatchObject({ name: 'NoSuchKey' });
    await expect(get('no/where')).rejects.toMatchObject({ name: 'NoSuchKey' });
    await expect(s3.send(new HeadObjectCommand({ Bucket, Key: 'nowhere' }))).rejects.toMatchObject({
      name: 'NotFound',
    });
  });
});

describe('what a pod puts in the way', () => {
  test('a symbolic link is no object and leads nowhere, to a file or a directory, inward or outward', async () => {
    await put('links/target/file', 'inside');
    await symlink('/etc', join(path, 'links/outward'));
    await symlink('/etc/hostname', join(path, 'links/file'));
    await symlink('target', join(path, 'links/inward'));
    expect(await keysOf({ Prefix: 'links/' })).toEqual(['links/target/file']);
    for (const key of ['links/outward/hostname', 'links/file', 'links/inward/file', 'links/outward/'])
      await expect(get(key)).rejects.toMatchObject({ name: 'NoSuchKey' });
    await expect(put('links/outward/podyard-was-here')).rejects.toMatchObject({ name: 'ObjectParentIsFile' });
    await put('links/file', 'replaced');
    expect(await get('links/file')).toMatchObject({ text: 'replaced' });
    expect(await keysOf({ Prefix: 'links/outward/' })).toEqual([]);
  });

  test('the hidden folder as a link is not followed', async () => {
    const other = await server.addVolume(alice);
    await symlink('/tmp', join(server.pathOf(other), '.podyard-s3'));
    await expect(s3.send(new PutObjectCommand({ Bucket: other, Key: 'a', Body: 'x' }))).rejects.toMatchObject({
      name: 'ObjectParentIsFile',
    });
  });

  test('a pipe is no object and holds nobody up', async () => {
    await mkdir(join(path, 'special'));
    execFileSync('mkfifo', [join(path, 'special/pipe')]);
    await expect(get('special/pipe')).rejects.toMatchObject({ name: 'NoSuchKey' });
    expect(await keysOf({ Prefix: 'special/p' })).toEqual([]);
  });

  test('names that are not UTF-8 are left out of listings', async () => {
    await writeFile(Buffer.concat([Buffer.from(join(path, 'special/')), Buffer.from([0xff, 0xfe])]), 'x');
    await put('special/valid');
    expect(await keysOf({ Prefix: 'special/' })).toEqual(['special/valid']);
  });

  test('hard links count once they are the last', async () => {
    await put('linked', 'x'.repeat(1_000));
    await link(join(path, 'linked'), join(path, 'other-name'));
    expect((await get('other-name')).ContentLength).toBe(1_000);
  });

  test.runIf(process.getuid?.() !== 0)('a file that Podyard may not read is AccessDenied', async () => {
    await put('locked');
    await chmod(join(path, 'locked'), 0);
    await expect(get('locked')).rejects.toMatchObject({ name: 'AccessDenied' });
  });
});

describe('a listing', () => {
  const names = ['a', 'a.txt', 'a/1', 'a/b/2', 'a/b/3', 'a0', 'b', 'é', '￿', '😀'].filter((name) => name !== 'a');
  let volume: VolumeId;
  const keys = async (more: object = {}) => {
    const { Contents, CommonPrefixes } = await s3.send(new ListObjectsV2Command({ Bucket: volume, ...more }));
    return [...(Contents ?? []).map(({ Key }) => Key), ...(CommonPrefixes ?? []).map(({ Prefix }) => Prefix)];
  };
  const all = async (more: object) => {
    const found: (string | undefined)[] = [];
    for (let ContinuationToken: string | undefined; ; ) {
      const page = await s3.send(new ListObjectsV2Command({ Bucket: volume, ...more, ContinuationToken }));
      found.push(
        ...(page.Contents ?? []).map(({ Key }) => Key),
        ...(page.CommonPrefixes ?? []).map((one) => one.Prefix),
      );
      expect(page.KeyCount).toBe((page.Contents?.length ?? 0) + (page.CommonPrefixes?.length ?? 0));
      if (!page.IsTruncated) return found;
      ContinuationToken = page.NextContinuationToken;
    }
  };
  beforeAll(async () => {
    volume = await server.addVolume(alice);
    for (const Key of names) await s3.send(new PutObjectCommand({ Bucket: volume, Key, Body: 'x' }));
  });

  test('is in the order of the bytes of keys, a directory’s slash included', async () => {
    expect(await keys()).toEqual(names);
  });

  test.each([1, 2, 3, 100])('in pages of %i has every key once', async (MaxKeys) => {
    expect(await all({ MaxKeys })).toEqual(names);
    expect((await all({ MaxKeys, Delimiter: '/' })).sort()).toEqual(['a.txt', 'a/', 'a0', 'b', 'é', '￿', '😀'].sort());
    expect(await all({ MaxKeys, Prefix: 'a/' })).toEqual(['a/1', 'a/b/2', 'a/b/3']);
  });

  test.each([
    [{ Prefix: 'a' }, ['a.txt', 'a/1', 'a/b/2', 'a/b/3', 'a0']],
    [{ Prefix: 'a/b' }, ['a/b/2', 'a/b/3']],
    [{ Prefix: 'a/b', Delimiter: '/' }, ['a/b/']],
    [{ Prefix: 'a/', Delimiter: '/' }, ['a/1', 'a/b/']],
    [{ Prefix: 'nothing/here' }, []],
    [{ Prefix: 'a//' }, []],
    [{ Prefix: '../' }, []],
    [{ StartAfter: 'a/b/2' }, ['a/b/3', 'a0', 'b', 'é', '￿', '😀']],
    [{ StartAfter: 'a/b/2', Prefix: 'a/' }, ['a/b/3']],
    [{ StartAfter: 'zzz', Prefix: 'a/' }, []],
    [{ StartAfter: 'A', Prefix: 'a/' }, ['a/1', 'a/b/2', 'a/b/3']],
    [{ MaxKeys: 0 }, []],
  ])('with %j returns %j', async (more, expected) => {
    expect(await keys(more)).toEqual(expected);
  });

  test('of the first version has a marker', async () => {
    const page = await s3.send(new ListObjectsCommand({ Bucket: volume, MaxKeys: 4 }));
    expect(page).toMatchObject({ IsTruncated: true, NextMarker: 'a/b/3' });
    const rest = await s3.send(new ListObjectsCommand({ Bucket: volume, Marker: page.NextMarker }));
    expect([...page.Contents!, ...rest.Contents!].map(({ Key }) => Key)).toEqual(names);
  });

  test('refuses another delimiter than a slash, and a token that is not one', async () => {
    await expect(keys({ Delimiter: '-' })).rejects.toMatchObject({ name: 'NotImplemented' });
    await expect(keys({ ContinuationToken: '???' })).rejects.toMatchObject({ name: 'InvalidArgument' });
  });
});

describe('a copy', () => {
  const copy = (Key: string, CopySource: string, more: object = {}) =>
    s3.send(new CopyObjectCommand({ Bucket, Key, CopySource, ...more }));

  test('is a file of its own', async () => {
    await put('source ü', 'copied');
    const { CopyObjectResult } = await copy('made/copy', `${Bucket}/source%20%C3%BC`);
    expect(await get('made/copy')).toMatchObject({ text: 'copied', ETag: CopyObjectResult!.ETag });
  });

  test('onto itself sets the time, and is refused if it would change nothing', async () => {
    await put('itself', 'same');
    await expect(copy('itself', `${Bucket}/itself`)).rejects.toMatchObject({ name: 'InvalidRequest' });
    await copy('itself', `${Bucket}/itself`, { MetadataDirective: 'REPLACE', Metadata: { mtime: '1500000000' } });
    expect(await get('itself')).toMatchObject({ text: 'same', Metadata: { mtime: '1500000000.000000000' } });
  });

  test('of a missing file, or with a condition that does not hold, is refused', async () => {
    await expect(copy('to', `${Bucket}/missing`)).rejects.toMatchObject({ name: 'NoSuchKey' });
    await put('from');
    const more = { CopySourceIfMatch: '"other"' };
    await expect(copy('to', `${Bucket}/from`, more)).rejects.toMatchObject({ name: 'PreconditionFailed' });
  });
});

test('volumes are buckets, their data center is the region', async () => {
  const { Buckets } = await s3.send(new ListBucketsCommand({}));
  expect(Buckets).toContainEqual(expect.objectContaining({ Name: Bucket, CreationDate: expect.any(Date) }));
  expect(await s3.send(new HeadBucketCommand({ Bucket }))).toMatchObject({ BucketRegion: 'EU-RO-1' });
  expect(await s3.send(new GetBucketLocationCommand({ Bucket }))).toMatchObject({ LocationConstraint: 'EU-RO-1' });
});

test('a delete of several keys tells the outcome of each', async () => {
  await put('d1');
  const Objects = ['d1', 'd2', 'a//b'].map((Key) => ({ Key }));
  const { Deleted, Errors } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
  expect(Deleted).toEqual([{ Key: 'd1' }, { Key: 'd2' }]);
  expect(Errors).toEqual([expect.objectContaining({ Key: 'a//b', Code: 'InvalidArgument' })]);
});
