/**
 * The cases of the public conformance lists for S3 that apply to files, in our words; known-listings.http.test.ts has the listings.
 * docs/interface/s3.md says where Podyard differs.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type S3Person, type S3TestServer, startS3Server } from '../../../test/s3-server.ts';
import type { VolumeId } from '../../core/ids.ts';

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

const put = (Key: string, body: string | Buffer = 'x', more: object = {}) =>
  s3.send(new PutObjectCommand({ Bucket, Key, Body: Buffer.from(body), ...more }));
const get = async (Key: string, more: object = {}) => {
  const { Body, ...rest } = await s3.send(new GetObjectCommand({ Bucket, Key, ...more }));
  return { ...rest, text: await Body!.transformToString() };
};
const send = (path: string, { headers = {}, ...more }: RequestInit & { headers?: Record<string, string> } = {}) =>
  fetch(server.endpoint + path, { ...more, headers: { authorization: `Bearer ${alice.apiKey}`, ...headers } });
/** Puts with these headers and no others that a client would add; returns the whole answer. */
async function putRaw(headers: Record<string, string>, body: string): Promise<string> {
  const { hostname, port, pathname } = new URL(server.endpoint);
  const all = { authorization: `Bearer ${alice.apiKey}`, host: 'x', connection: 'close', ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(Number(port), hostname);
  socket.write(`PUT ${pathname}/${Bucket}/raw HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
  return text(socket);
}
const codeOf = (text: string) => /<Code>(\w+)<\/Code>/.exec(text)?.[1];

test.each(['list', 'put', 'get', 'head', 'delete', 'delete of several', 'uploads'])(
  '%s in a volume that is not there',
  async (what) => {
    const of = { Bucket: 'nothing', Key: 'x' };
    const command = {
      list: new ListObjectsV2Command(of),
      put: new PutObjectCommand({ ...of, Body: 'x' }),
      get: new GetObjectCommand(of),
      head: new HeadObjectCommand(of),
      delete: new DeleteObjectCommand(of),
      'delete of several': new DeleteObjectsCommand({ ...of, Delete: { Objects: [{ Key: 'x' }] } }),
      uploads: new ListMultipartUploadsCommand(of),
    }[what]!;
    const sent = s3.send(command as ListObjectsV2Command);
    await expect(sent).rejects.toMatchObject({
      name: what === 'head' ? 'NotFound' : 'NoSuchBucket',
      $metadata: { httpStatusCode: 404 },
    });
  },
);

describe('an object', () => {
  test('is written, read, replaced and deleted', async () => {
    await put('life', 'bar');
    expect((await get('life')).text).toBe('bar');
    await put('life', 'soup');
    expect((await get('life')).text).toBe('soup');
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'life' }));
    await expect(get('life')).rejects.toMatchObject({ name: 'NoSuchKey', $metadata: { httpStatusCode: 404 } });
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'life' })); // again
  });

  test('that is not there has an error with the id of the request', async () => {
    const answer = await send(`/${Bucket}/missing`);
    const id = /<RequestId>(.+?)<\/RequestId>/.exec(await answer.text())![1];
    expect([answer.status, id]).toEqual([404, answer.headers.get('x-amz-request-id')]);
  });

  test.each([
    '_',
    '_ _',
    '__',
    ' a',
    'a b',
    '"',
    '$',
    '%',
    '&',
    "'",
    '<',
    '>',
    'a+b',
    'a=b',
    'a;b',
    'a:b',
    '?',
    '#',
    '\\',
    '%2f',
    'ü',
    '日本',
  ])('is named %j', async (Key) => {
    await put(Key, Key);
    expect((await get(Key)).text).toBe(Key);
    const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket, Prefix: Key }));
    expect(Contents!.map((one) => one.Key)).toContain(Key);
    const { CopyObjectResult } = await s3.send(
      new CopyObjectCommand({ Bucket, Key: 'copy of it', CopySource: `${Bucket}/${encodeURIComponent(Key)}` }),
    );
    expect((await get('copy of it')).ETag).toBe(CopyObjectResult!.ETag);
    const { Deleted, Errors } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: [{ Key }] } }));
    expect([Deleted, Errors]).toEqual([[{ Key }], undefined]);
  });

  test.each([
    ['bytes=4-7', 'o wo', 'bytes 4-7/11'],
    ['bytes=4-', 'o world', 'bytes 4-10/11'],
    ['bytes=-7', 'o world', 'bytes 4-10/11'],
    ['bytes=-40', 'hello world', 'bytes 0-10/11'],
    ['bytes=4-400', 'o world', 'bytes 4-10/11'],
    ['bytes=0-0', 'h', 'bytes 0-0/11'],
  ])('is read in the range %s', async (Range, text, ContentRange) => {
    await put('ranged', 'hello world');
    expect(await get('ranged', { Range })).toMatchObject({ text, ContentRange, ContentLength: text.length });
  });

  test.each(['bytes=40-50', 'bytes=11-', 'bytes=-0'])('has no range %s', async (Range) => {
    await put('ranged', 'hello world');
    await expect(get('ranged', { Range })).rejects.toMatchObject({
      name: 'InvalidRange',
      $metadata: { httpStatusCode: 416 },
    });
  });

  test('that is empty has no range', async () => {
    await put('empty', '');
    await expect(get('empty', { Range: 'bytes=40-50' })).rejects.toMatchObject({ name: 'InvalidRange' });
    expect(await s3.send(new HeadObjectCommand({ Bucket, Key: 'empty' }))).toMatchObject({ ContentLength: 0 });
  });

  const PAST = new Date('1994-10-29T19:43:31Z');
  const FUTURE = new Date(Date.now() + 86_400_000);
  test.each([
    ['the ETag', ({ ETag }: { ETag: string }) => ({ IfMatch: ETag }), 200],
    ['any ETag', () => ({ IfMatch: '*' }), 200],
    ['another ETag', () => ({ IfMatch: '"ABCORZ"' }), 412],
    ['no such ETag', ({ ETag }: { ETag: string }) => ({ IfNoneMatch: ETag }), 304],
    ['no other ETag', () => ({ IfNoneMatch: 'ABCORZ' }), 200],
    ['a change since long ago', () => ({ IfModifiedSince: PAST }), 200],
    ['a change since now', ({ LastModified }: { LastModified: Date }) => ({ IfModifiedSince: LastModified }), 304],
    ['no change since long ago', () => ({ IfUnmodifiedSince: PAST }), 412],
    ['no change since tomorrow', () => ({ IfUnmodifiedSince: FUTURE }), 200],
    ['the ETag, whatever the time', ({ ETag }: { ETag: string }) => ({ IfMatch: ETag, IfUnmodifiedSince: PAST }), 200],
    ['no other ETag, whatever the time', () => ({ IfNoneMatch: '"x"', IfModifiedSince: FUTURE }), 200],
  ])('is read with the condition of %s', async (_, more, status) => {
    await put('conditions', 'bar');
    const { ETag, LastModified } = await get('conditions');
    const sent = get('conditions', more({ ETag: ETag!, LastModified: LastModified! }));
    const seen = await sent.then(
      () => 200,
      (error: { $metadata: { httpStatusCode: number } }) => error.$metadata.httpStatusCode,
    );
    expect(seen).toBe(status);
  });

  test.each([
    ['an empty MD5', { 'content-md5': '' }, 400, 'InvalidDigest'],
    ['an MD5 that is none', { 'content-md5': 'WTFBBQ==' }, 400, 'InvalidDigest'],
    ['another MD5', { 'content-md5': 'rL0Y20xC+Fzt72VPzMSk2A==' }, 400, 'BadDigest'],
    ['an empty content type', { 'content-type': '' }, 200, undefined],
    ['an empty user agent', { 'user-agent': '' }, 200, undefined],
    ['an empty authorization', { authorization: '' }, 401, 'AccessDenied'],
    ['an authorization that is none', { authorization: 'AWS HAHAHA' }, 400, 'InvalidRequest'],
  ])('is put with %s', async (_, headers: Record<string, string>, status, code) => {
    const answer = await putRaw({ 'content-length': '3', ...headers }, 'bar');
    expect([Number(answer.split(' ')[1]), codeOf(answer)], answer).toEqual([status, code]);
  });

  test('without a length is refused', async () => {
    const answer = await putRaw({}, '');
    expect([Number(answer.split(' ')[1]), codeOf(answer)], answer).toEqual([411, 'MissingContentLength']);
  });
});

describe('a delete of several', () => {
  test('keys is listed no more, and again is as good', async () => {
    const keys = ['key0', 'key1', 'key2'];
    for (const key of keys) await put(`several/${key}`);
    const Objects = keys.map((key) => ({ Key: `several/${key}` }));
    for (let times = 0; times < 2; times += 1) {
      const { Deleted, Errors } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
      expect([Deleted, Errors]).toEqual([Objects, undefined]);
    }
    expect((await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'several/key' }))).Contents).toBeUndefined();
  });

  test('keys, quietly, tells failures only', async () => {
    await put('quiet');
    const { Deleted, Errors } = await s3.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Quiet: true, Objects: [{ Key: 'quiet' }, { Key: 'a//b' }] } }),
    );
    expect([Deleted, Errors!.map(({ Key }) => Key)]).toEqual([undefined, ['a//b']]);
  });

  test('1,000 keys is one request', async () => {
    const Objects = Array.from({ length: 1_000 }, (_, n) => ({ Key: `thousand/${n}` }));
    const { Deleted } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    expect(Deleted).toHaveLength(1_000);
  });
});

describe('a copy', () => {
  const copy = (Key: string, CopySource: string, more: object = {}) =>
    s3.send(new CopyObjectCommand({ Bucket, Key, CopySource, ...more }));

  test.each([0, 3, 16 * 2 ** 20])('of %i bytes', async (bytes) => {
    const body = randomBytes(bytes);
    await put('of-size', body);
    await copy('copy-of-size', `${Bucket}/of-size`);
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: 'copy-of-size' }));
    expect(Buffer.from(await Body!.transformToByteArray()).equals(body)).toBe(true);
  });

  test('from another volume of the same user; a leading slash is taken', async () => {
    const other = await server.addVolume(alice);
    await s3.send(new PutObjectCommand({ Bucket: other, Key: 'foo123bar', Body: 'foo' }));
    await copy('bar321foo', `/${other}/foo123bar`);
    expect((await get('bar321foo')).text).toBe('foo');
  });

  test('from a volume, or of a key, that is not there', async () => {
    await expect(copy('bar', 'nothing/foo')).rejects.toMatchObject({ name: 'NoSuchBucket' });
    await expect(copy('bar', `${Bucket}/nothing`)).rejects.toMatchObject({ name: 'NoSuchKey' });
  });

  test.each([
    ['if the ETag is', ({ ETag }: { ETag: string }) => ({ CopySourceIfMatch: ETag }), true],
    ['if the ETag is another', () => ({ CopySourceIfMatch: '"ABCORZ"' }), false],
    ['unless the ETag is', ({ ETag }: { ETag: string }) => ({ CopySourceIfNoneMatch: ETag }), false],
    ['unless the ETag is another', () => ({ CopySourceIfNoneMatch: '"ABCORZ"' }), true],
  ])('%s', async (_, more, isMade) => {
    const { ETag } = await put('source', 'bar');
    const sent = copy('conditional', `${Bucket}/source`, more({ ETag: ETag! }));
    if (isMade) await sent;
    else await expect(sent).rejects.toMatchObject({ name: 'PreconditionFailed' });
  });
});

describe('an upload in parts', () => {
  const FIVE = 5 * 2 ** 20;
  const begin = async (Key: string) => (await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))).UploadId!;
  const part = async (Key: string, UploadId: string, PartNumber: number, Body: Buffer) => {
    const { ETag } = await s3.send(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }));
    return { PartNumber, ETag };
  };
  const complete = (Key: string, UploadId: string, Parts: { PartNumber: number; ETag: string | undefined }[]) =>
    s3.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }));
  const bytesOf = async (Key: string) =>
    Buffer.from(await (await s3.send(new GetObjectCommand({ Bucket, Key }))).Body!.transformToByteArray());

  test.each([[[1_000]], [[FIVE, 100]], [[FIVE, FIVE]], [[FIVE + 100, FIVE, 600]]])('of the sizes %j', async (sizes) => {
    const bodies = sizes.map((size) => randomBytes(size));
    const id = await begin('sizes');
    const parts = await Promise.all(bodies.map((body, n) => part('sizes', id, n + 1, body)));
    const done = await complete('sizes', id, parts);
    expect(done.ETag).toMatch(/-\d+"$/);
    expect((await bytesOf('sizes')).equals(Buffer.concat(bodies))).toBe(true);
  });

  test('without parts is no document', async () => {
    const id = await begin('none');
    await expect(complete('none', id, [])).rejects.toMatchObject({ name: 'MalformedXML' });
  });

  test('of a part that is sent again has the last', async () => {
    const id = await begin('again');
    await part('again', id, 1, Buffer.from('first'));
    const last = await part('again', id, 1, Buffer.from('last'));
    await complete('again', id, [last]);
    expect(String(await bytesOf('again'))).toBe('last');
  });

  test('replaces what is there', async () => {
    await put('there', 'before');
    const id = await begin('there');
    await complete('there', id, [await part('there', id, 1, Buffer.from('after'))]);
    expect(String(await bytesOf('there'))).toBe('after');
  });

  test('whose parts have gaps between their numbers is in their order', async () => {
    const id = await begin('gaps');
    const bodies = [randomBytes(FIVE), randomBytes(3)];
    const parts = [await part('gaps', id, 7, bodies[0]!), await part('gaps', id, 9_000, bodies[1]!)];
    await complete('gaps', id, parts);
    expect((await bytesOf('gaps')).equals(Buffer.concat(bodies))).toBe(true);
  });

  test.each([
    [undefined, 11],
    ['bytes=0-0', 1],
    ['bytes=3-10', 8],
  ])('with a part copied from the range %s', async (CopySourceRange, length) => {
    await put('copied', 'hello world');
    const id = await begin('by-copy');
    const { CopyPartResult } = await s3.send(
      new UploadPartCopyCommand({
        Bucket,
        Key: 'by-copy',
        UploadId: id,
        PartNumber: 1,
        CopySource: `${Bucket}/copied`,
        CopySourceRange,
      }),
    );
    await complete('by-copy', id, [{ PartNumber: 1, ETag: CopyPartResult!.ETag }]);
    expect(await bytesOf('by-copy')).toHaveLength(length);
  });

  test.each([
    '0-2',
    'bytes=0',
    'bytes=hello-world',
    'bytes=0-bar',
    'bytes=hello-',
    'bytes=0-2,3-5',
    'bytes=0-21',
    'bytes=2-1',
  ])('takes no part from the range %s', async (CopySourceRange) => {
    await put('copied', 'hello world');
    const id = await begin('improper');
    const sent = s3.send(
      new UploadPartCopyCommand({
        Bucket,
        Key: 'improper',
        UploadId: id,
        PartNumber: 1,
        CopySource: `${Bucket}/copied`,
        CopySourceRange,
      }),
    );
    await expect(sent).rejects.toMatchObject({ name: 'InvalidArgument' });
  });
});

test.each([
  ['GET', '?acl'],
  ['PUT', '?acl'],
  ['GET', '?cors'],
  ['PUT', '?cors'],
  ['GET', '?encryption'],
  ['GET', '?lifecycle'],
  ['PUT', '?lifecycle'],
  ['GET', '?logging'],
  ['GET', '?object-lock'],
  ['GET', '?policy'],
  ['GET', '?policyStatus'],
  ['GET', '?publicAccessBlock'],
  ['GET', '?replication'],
  ['GET', '?requestPayment'],
  ['GET', '?tagging'],
  ['PUT', '?tagging'],
  ['PUT', '?versioning'],
  ['GET', '?versions'],
  ['GET', '?website'],
  ['POST', ''],
  ['GET', '/key?acl'],
  ['GET', '/key?attributes'],
  ['GET', '/key?legal-hold'],
  ['GET', '/key?retention'],
  ['GET', '/key?tagging'],
  ['PUT', '/key?tagging'],
  ['GET', '/key?torrent'],
  ['POST', '/key?restore'],
  ['POST', '/key?select&select-type=2'],
])('%s %s is not offered', async (method, path) => {
  const answer = await send(`/${Bucket}${path}`, { method, ...(method !== 'GET' && { body: '' }) });
  expect([answer.status, codeOf(await answer.text())]).toEqual([501, 'NotImplemented']);
});
