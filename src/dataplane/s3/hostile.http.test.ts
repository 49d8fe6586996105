import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type S3Person, type S3TestKey, type S3TestServer, startS3Server } from '../../../test/s3-server.ts';
import type { VolumeId } from '../../core/ids.ts';

const MIB = 2 ** 20;

let server: S3TestServer;
let alice: S3Person;
let key: S3TestKey;
let s3: S3Client;
let Bucket: VolumeId;
let path: string;
beforeAll(async () => {
  server = await startS3Server();
  alice = await server.addPerson('alice');
  Bucket = await server.addVolume(alice);
  key = await server.addKey(alice, 'files:write');
  s3 = server.client(key);
  path = server.pathOf(Bucket);
});
afterAll(() => server.close());

const codeOf = (text: string) => /<Code>(\w+)<\/Code>/.exec(text)?.[1];
const hidden = (bucket = Bucket) => readdir(join(server.pathOf(bucket), '.podyard-s3'));
const keysOf = async (bucket = Bucket) =>
  ((await s3.send(new ListObjectsV2Command({ Bucket: bucket }))).Contents ?? []).map(({ Key }) => Key);

/** Sends a request as it is written. */
function send(
  target: string,
  { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: Record<string, string>; body?: string },
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(server.endpoint);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path: target, method, headers, agent: false }, async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode!, text });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
const asAlice = () => ({ authorization: `Bearer ${alice.apiKey}` });

/** Begins a put whose body does not come. */
function beginPut(name: string, person: S3Person, bucket = Bucket, length = 4): Socket {
  const { hostname, port } = new URL(server.endpoint);
  const socket = connect(Number(port), hostname);
  const lines = [`PUT /s3/${bucket}/${name} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${person.apiKey}`];
  socket.write(`${[...lines, `Content-Length: ${length}`].join('\r\n')}\r\n\r\n`);
  return socket;
}

describe('a directory that is swapped for a symbolic link', () => {
  test('while a put waits for its body leads the put nowhere', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'podyard-outside-'));
    onTestFinished(() => rm(outside, { recursive: true }));
    await mkdir(join(path, 'swapped'));
    const socket = beginPut('swapped/file', alice);
    await expect.poll(() => hidden().catch(() => [])).toHaveLength(1);
    await rename(join(path, 'swapped'), join(path, 'before'));
    await symlink(outside, join(path, 'swapped'));
    socket.write('evil');
    const [answer] = await once(socket, 'data');
    socket.destroy();
    expect(codeOf(String(answer))).toBe('ObjectParentIsFile');
    expect(await readdir(outside)).toEqual([]);
    await expect.poll(() => hidden()).toEqual([]);
  });

  test('again and again shows nothing from outside, and removes nothing there', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'podyard-outside-'));
    onTestFinished(() => rm(outside, { recursive: true }));
    const names = ['file', ...Array.from({ length: 60 }, (_, i) => `only-outside-${i}`)].sort();
    for (const name of names) await writeFile(join(outside, name), 'outside');
    const [dir, real] = [join(path, 'race'), join(path, 'race-real')];
    await mkdir(dir);
    await writeFile(join(dir, 'file'), 'inside');
    let isOver = false;
    const swapping = (async () => {
      while (!isOver) {
        await rename(dir, real);
        await symlink(outside, dir);
        await unlink(dir);
        await rename(real, dir);
      }
    })();
    const seen = new Set<string>();
    const headers = asAlice();
    const url = `/s3/${Bucket}/race`;
    const tryAll = async (i: number) => {
      seen.add((await send(`${url}/file`, { headers })).text.replace(/^<.*<Code>(\w+).*$/s, '$1'));
      await send(`${url}/only-outside-${i}`, { method: 'DELETE', headers });
      const { text } = await send(`/s3/${Bucket}?list-type=2&prefix=race/`, { headers });
      expect(text).not.toContain('outside');
    };
    for (let i = 0; i < 60; i += 4) await Promise.all([0, 1, 2, 3].map((j) => tryAll(i + j)));
    isOver = true;
    await swapping;
    expect([...seen].filter((text) => text !== 'inside' && text !== 'NoSuchKey')).toEqual([]);
    expect((await readdir(outside)).sort()).toEqual(names);
  });
});

/** A volume of this size on a file system of its own, whose times have 64 bits; null: not without root. */
async function addVolumeOfMemory(size: string): Promise<VolumeId | null> {
  const bucket = await server.addVolume(alice);
  const folder = server.pathOf(bucket);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0777`, 'podyard-test', folder]).status !== 0)
    return null;
  onTestFinished(() => void spawnSync('umount', ['-l', folder]));
  return bucket;
}

describe('a disk that is full', () => {
  const usedBytes = async (bucket: VolumeId) =>
    (await server.database.pool.query('select used_bytes::int8 as used from network_volumes where id = $1', [bucket]))
      .rows[0].used;

  test('in the middle of a put refuses it, and leaves the file before and nothing else', async ({ skip }) => {
    const bucket = await addVolumeOfMemory('12m');
    if (bucket === null) return skip('it takes root to mount a file system');
    const put = (Key: string, bytes: number) =>
      s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body: Buffer.alloc(bytes, 'a') }));
    await put('kept', 5 * MIB);
    await expect(put('kept', 9 * MIB)).rejects.toMatchObject({ name: 'StorageFull' });
    await expect(put('dir/big', 20 * MIB)).rejects.toMatchObject({ name: 'StorageFull' });
    expect(await keysOf(bucket)).toEqual(['kept']);
    expect(await hidden(bucket)).toEqual([]);
    expect(await usedBytes(bucket)).toBe(5 * MIB);
    await put('small', MIB);
  });

  test('when an upload is completed keeps its parts, and it can be completed once there is room', async ({ skip }) => {
    const bucket = await addVolumeOfMemory('16m');
    if (bucket === null) return skip('it takes root to mount a file system');
    const at = { Bucket: bucket, Key: 'whole' };
    await s3.send(new PutObjectCommand({ ...at, Key: 'other', Body: Buffer.alloc(5 * MIB) }));
    const { UploadId } = await s3.send(new CreateMultipartUploadCommand(at));
    const { ETag } = await s3.send(
      new UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: Buffer.alloc(6 * MIB, 'b') }),
    );
    await expect(
      s3.send(new UploadPartCommand({ ...at, UploadId, PartNumber: 2, Body: Buffer.alloc(6 * MIB) })),
    ).rejects.toMatchObject({ name: 'StorageFull' });
    const complete = () =>
      s3.send(
        new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload: { Parts: [{ PartNumber: 1, ETag }] } }),
      );
    await expect(complete()).rejects.toMatchObject({ name: 'StorageFull' });
    expect(await keysOf(bucket)).toEqual(['other']);
    expect(await usedBytes(bucket)).toBe(11 * MIB);
    await s3.send(new DeleteObjectCommand({ ...at, Key: 'other' }));
    await complete();
    expect((await s3.send(new GetObjectCommand(at))).ContentLength).toBe(6 * MIB);
    expect(await hidden(bucket)).toEqual([]);
    expect(await usedBytes(bucket)).toBe(6 * MIB);
  });
});

test.each([
  ['after the last date', 1e13, '9999-12-31T23:59:59.999Z'],
  ['before the first date', -1e13, '0001-01-01T00:00:00.000Z'],
])('a file that a pod gave a time %s is listed and read', async (_, seconds, date) => {
  const bucket = await addVolumeOfMemory('1m');
  if (bucket === null) return; // it takes root to mount a file system
  const file = join(server.pathOf(bucket), 'timeless');
  await writeFile(file, 'here');
  spawnSync('touch', ['-d', `@${seconds}`, file]); // Node.js takes no time before 1970
  const { status, text } = await send(`/s3/${bucket}?list-type=2`, { headers: asAlice() });
  expect([status, text]).toEqual([200, expect.stringContaining(`<LastModified>${date}</LastModified>`)]);
  const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket: bucket }));
  expect(Contents).toMatchObject([{ Key: 'timeless', LastModified: new Date(date) }]);
  const { Body, LastModified } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: 'timeless' }));
  expect([await Body!.transformToString(), LastModified]).toEqual(['here', expect.any(Date)]);
});

test('128 requests of a user run at a time; more are told to slow down, and others are served', async () => {
  const crowd = await server.addPerson('crowd');
  const bucket = await server.addVolume(crowd);
  const sockets = Array.from({ length: 128 }, (_, i) => beginPut(`held-${i}`, crowd, bucket));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await expect.poll(() => hidden(bucket).catch(() => []), { timeout: 30_000 }).toHaveLength(128);
  const ask = () => send(`/s3/${bucket}`, { headers: { authorization: `Bearer ${crowd.apiKey}` } });
  const refused = await ask();
  expect([refused.status, codeOf(refused.text)]).toEqual([503, 'SlowDown']);
  expect((await send(`/s3/${Bucket}`, { headers: asAlice() })).status).toBe(200);
  sockets[0]!.write('done');
  await once(sockets[0]!, 'data');
  await expect.poll(async () => (await ask()).status).toBe(200);
  sockets[1]!.destroy();
  await expect.poll(() => hidden(bucket)).toHaveLength(126);
});

test('a listing in pages has every key that stays once and in order, while others come and go', async () => {
  const bucket = await server.addVolume(alice);
  const folder = join(server.pathOf(bucket), 'moving');
  await mkdir(folder);
  const name = (i: number) => `k${String(i).padStart(4, '0')}`;
  for (let i = 0; i < 400; i++) await writeFile(join(folder, name(i)), '');
  let isOver = false;
  const changing = (async () => {
    for (let i = 1; !isOver; i = (i + 2) % 400) {
      await unlink(join(folder, name(i))).catch(() => {});
      await writeFile(join(folder, `${name(i)}-new`), '');
      await writeFile(join(folder, name(i)), '');
    }
  })();
  const keys: string[] = [];
  let ContinuationToken: string | undefined;
  do {
    const page = await s3.send(new ListObjectsV2Command({ Bucket: bucket, MaxKeys: 30, ContinuationToken }));
    keys.push(...(page.Contents ?? []).map(({ Key }) => Key!));
    ContinuationToken = page.NextContinuationToken;
  } while (ContinuationToken !== undefined);
  isOver = true;
  await changing;
  expect(keys).toEqual([...new Set(keys)].sort());
  const even = Array.from({ length: 200 }, (_, i) => `moving/${name(2 * i)}`);
  expect(even.filter((one) => !keys.includes(one))).toEqual([]);
});

describe('a malformed signature', () => {
  const now = () => new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = () => `${now().slice(0, 8)}/EU-RO-1/s3/aws4_request`;
  const full = (more: { credential?: string; signed?: string; signature?: string }) =>
    `AWS4-HMAC-SHA256 Credential=${more.credential ?? `${key.id}/${scope()}`}, ` +
    `SignedHeaders=${more.signed ?? 'host;x-amz-content-sha256;x-amz-date'}, Signature=${more.signature ?? 'a'.repeat(64)}`;

  test.each<[string, () => string]>([
    ['nothing after its name', () => 'AWS4-HMAC-SHA256'],
    ['empty fields', () => 'AWS4-HMAC-SHA256 Credential=,SignedHeaders=,Signature='],
    ['commas', () => `AWS4-HMAC-SHA256 ${','.repeat(5_000)}`],
    ['a short credential', () => full({ credential: key.id })],
    ['a long credential', () => full({ credential: 'a/'.repeat(3_000) })],
    ['another service', () => full({ credential: `${key.id}/${scope().replace('s3', 'ec2')}` })],
    ['a headless list of headers', () => full({ signed: 'x-amz-date;x-amz-content-sha256' })],
    ['members of objects as headers', () => full({ signed: 'host;x-amz-content-sha256;x-amz-date;constructor' })],
    ['the prototype as a header', () => full({ signed: 'host;x-amz-content-sha256;x-amz-date;__proto__' })],
    ['a thousand headers', () => full({ signed: `host;x-amz-content-sha256;x-amz-date${';a'.repeat(1_000)}` })],
    ['a short signature', () => full({ signature: 'a' })],
    ['a signature that is no hex', () => full({ signature: 'ä'.repeat(64) })],
  ])('with %s is refused', async (_, authorization) => {
    const headers = { 'x-amz-date': now(), 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' };
    const { status, text } = await send(`/s3/${Bucket}`, {
      headers: { ...headers, authorization: Buffer.from(authorization()).toString('latin1') },
    });
    expect(status, text).toBeGreaterThanOrEqual(400);
    expect(status, text).toBeLessThan(500);
    expect(codeOf(text)).toMatch(/^(AuthorizationHeaderMalformed|SignatureDoesNotMatch)$/);
  });

  test.each(['99999999T999999Z', '20261301T000000Z', '', 'tomorrow', '20261126'])(
    'with the date %j is refused',
    async (date) => {
      const headers = { 'x-amz-date': date, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', authorization: full({}) };
      const { status } = await send(`/s3/${Bucket}`, { headers });
      expect([400, 403]).toContain(status);
    },
  );

  test('in a URL is refused for another host, port, method or key, and with another expiry', async () => {
    const signed = new URL(await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'presigned' })));
    await s3.send(new PutObjectCommand({ Bucket, Key: 'presigned', Body: 'x' }));
    const target = signed.pathname + signed.search;
    expect((await send(target, { headers: { host: signed.host } })).text).toBe('x');
    const refused = [
      send(target, { headers: { host: 'podyard.example' } }),
      send(target, { headers: { host: signed.hostname } }),
      send(target, { headers: { host: signed.host }, method: 'PUT', body: 'evil' }),
      send(target.replace('presigned?', 'other?'), { headers: { host: signed.host } }),
      send(target.replace(/X-Amz-Expires=\d+/, 'X-Amz-Expires=604800'), { headers: { host: signed.host } }),
      send(`${target}&response-content-type=text/html`, { headers: { host: signed.host } }),
    ];
    for (const answer of refused) expect(codeOf((await answer).text)).toBe('SignatureDoesNotMatch');
  });
});

describe('an aws-chunked body', () => {
  const crc = 'x-amz-checksum-crc32';
  const put = (body: string, length: number, more: Record<string, string> = {}) =>
    send(`/s3/${Bucket}/chunks`, {
      ...{ method: 'PUT', body },
      headers: {
        ...asAlice(),
        'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
        'x-amz-decoded-content-length': String(length),
        'content-length': String(Buffer.byteLength(body)),
        ...more,
      },
    });

  test('whose chunks end anywhere is put together', async () => {
    const pieces = Array.from({ length: 2_000 }, (_, i) =>
      String.fromCharCode(97 + (i % 26)).repeat(1 + ((i * 37) % 900)),
    );
    const body = `${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`;
    const whole = pieces.join('');
    expect((await put(body, whole.length)).status).toBe(200);
    expect((await send(`/s3/${Bucket}/chunks`, { headers: asAlice() })).text).toBe(whole);
  });

  test.each<[string, string, number, string, Record<string, string>?]>([
    ['a chunk larger than all', 'ffffffffffff\r\nabc\r\n0\r\n\r\n', 3, 'IncompleteBody'],
    ['a size below zero', '-3\r\nabc\r\n0\r\n\r\n', 3, 'InvalidRequest'],
    ['no size', '\r\nabc\r\n0\r\n\r\n', 3, 'InvalidRequest'],
    ['more than it says', '4\r\nabcd\r\n0\r\n\r\n', 3, 'IncompleteBody'],
    ['less than it says', '2\r\nab\r\n0\r\n\r\n', 3, 'IncompleteBody'],
    ['no line after a chunk', '3\r\nabc0\r\n\r\n', 3, 'InvalidRequest'],
    ['no checksum where one is announced', '3\r\nabc\r\n0\r\n\r\n', 3, 'BadDigest', { 'x-amz-trailer': crc }],
    ['a wrong checksum', `3\r\nabc\r\n0\r\n${crc}:AAAAAA==\r\n\r\n`, 3, 'BadDigest', { 'x-amz-trailer': crc }],
    ['no length', '3\r\nabc\r\n0\r\n\r\n', Number.NaN, 'MissingContentLength'],
    ['a length that no file has', '3\r\nabc\r\n0\r\n\r\n', 2 ** 50, 'EntityTooLarge'],
  ])('with %s is refused', async (_, body, length, code, more) => {
    await send(`/s3/${Bucket}/chunks`, { method: 'PUT', headers: asAlice(), body: 'before' });
    const { text } = await put(body, length, more);
    expect(codeOf(text), text).toBe(code);
    expect((await send(`/s3/${Bucket}/chunks`, { headers: asAlice() })).text).toBe('before');
    expect(await hidden()).toEqual([]);
  });
});

test.each([
  ['/s3/%00', 'NoSuchBucket'],
  ['/s3/%ff', 'InvalidURI'],
  ['/s3/..', 'NoSuchBucket'],
  ['/s3/VOLUME/../../etc/passwd', 'InvalidArgument'],
  ['/s3/VOLUME/%2e%2e%2f%2e%2e%2fetc%2fpasswd', 'InvalidArgument'],
  ['/s3/VOLUME/a%00b', 'InvalidArgument'],
  ['/s3/VOLUME/.podyard-s3/x', 'InvalidArgument'],
  ['/s3/VOLUME//etc/passwd', 'InvalidArgument'],
])('the path %s is %s', async (target, code) => {
  const { text } = await send(target.replace('VOLUME', Bucket), { headers: asAlice() });
  expect(codeOf(text), text).toBe(code);
});

test.each([
  [
    'entities',
    '<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><Delete><Object><Key>&b;</Key></Object></Delete>',
  ],
  [
    'an external entity',
    '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><Delete><Object><Key>&x;</Key></Object></Delete>',
  ],
  ['a prototype', '<Delete><__proto__><Object><Key>a</Key></Object></__proto__></Delete>'],
  ['a depth of thousands', `<Delete>${'<a>'.repeat(20_000)}`],
  ['nothing', ''],
])('a document with %s is refused', async (_, body) => {
  const { status, text } = await send(`/s3/${Bucket}?delete`, { method: 'POST', headers: asAlice(), body });
  expect([status, codeOf(text)], text).toEqual([400, 'MalformedXML']);
});

const md5 = 'x'.repeat(22);
const source = 'x-amz-copy-source';
/**
 * Requests that clients send by mistake or in spite, with the answer. The target is behind the volume, which has `file` and the directory `dir`. A status
 * below 400 is that of a request that is carried out, or of one with an outcome for each key.
 */
const BAD: [string, string, { method?: string; headers?: Record<string, string>; body?: string }, number, string?][] = [
  ['a prefix of a zero byte', '?list-type=2&prefix=%00', {}, 200],
  ['a prefix with a name of a zero byte', '?list-type=2&prefix=a%00b/', {}, 200],
  ['a prefix that leads out', '?list-type=2&prefix=../../', {}, 200],
  ['a token that is none', '?list-type=2&continuation-token=!!', {}, 400, 'InvalidArgument'],
  ['a token for a path that leads out', `?list-type=2&continuation-token=${base64Url('../../etc/')}`, {}, 200],
  ['no keys', '?list-type=2&max-keys=0', {}, 200],
  ['fewer keys than none', '?list-type=2&max-keys=-1', {}, 400, 'InvalidArgument'],
  ['more keys than there are numbers', `?list-type=2&max-keys=${'9'.repeat(400)}`, {}, 200],
  ['a number of keys that is none', '?list-type=2&max-keys=NaN', {}, 400, 'InvalidArgument'],
  ['an empty number of keys', '?list-type=2&max-keys=', {}, 400, 'InvalidArgument'],
  ['a long delimiter', '?list-type=2&delimiter=//', {}, 501, 'NotImplemented'],
  ['another encoding', '?list-type=2&encoding-type=xml', {}, 400, 'InvalidArgument'],
  ['fewer uploads than none', '?uploads&max-uploads=-1', {}, 400, 'InvalidArgument'],
  ['a marker of parts that is none', '/file?uploadId=x&part-number-marker=x', {}, 400, 'InvalidArgument'],
  ['an upload that is none', '/file?uploadId=x', {}, 404, 'NoSuchUpload'],

  ['a put if it matches', '/file', put({ 'if-match': '"x"' }), 501, 'NotImplemented'],
  ['a put unless it matches', '/file', put({ 'if-none-match': '"x"' }), 501, 'NotImplemented'],
  ['a put if it is new', '/file', put({ 'if-none-match': '*' }), 412, 'PreconditionFailed'],
  ['an MD5 that is none', '/file', put({ 'content-md5': md5.slice(1) }), 400, 'InvalidDigest'],
  ['another MD5', '/file', put({ 'content-md5': `${md5}==` }), 400, 'BadDigest'],
  ['another checksum', '/file', put({ 'x-amz-checksum-crc32': 'AAAAAA==' }), 400, 'BadDigest'],
  ['a checksum that is none', '/file', put({ 'x-amz-checksum-crc32': 'ä' }), 400, 'BadDigest'],
  ['a checksum that nobody knows', '/file', put({ 'x-amz-checksum-md4': 'AAAAAA==' }), 501, 'NotImplemented'],
  ['a trailer that nobody knows', '/file', put({ 'x-amz-trailer': 'x-amz-checksum-md4' }), 501, 'NotImplemented'],
  ['members of objects as trailers', '/new', put({ 'x-amz-trailer': 'constructor,__proto__' }), 200],
  ['a part of a file', '/file', put({ 'content-range': 'bytes 2-3/4' }), 501, 'NotImplemented'],
  ['bytes for the end of a file', '/file', put({ 'x-amz-write-offset-bytes': '4' }), 501, 'NotImplemented'],
  ['a key for encryption', '/file', put({ 'x-amz-server-side-encryption': 'aws:kms' }), 501, 'NotImplemented'],
  ['content for a directory', '/dir/', put({}), 400, 'InvalidArgument'],
  ['a file for a directory', '/dir', put({}), 409, 'ExistingObjectIsDirectory'],
  ['part 0', '/file?uploadId=x&partNumber=0', put({}), 400, 'InvalidArgument'],
  ['part 10,001', '/file?uploadId=x&partNumber=10001', put({}), 400, 'InvalidArgument'],

  ['many ranges', '/file', { headers: { range: `bytes=${'0-1,'.repeat(2_000)}0-1` } }, 200],
  ['a range behind the end', '/file', { headers: { range: 'bytes=4-' } }, 416, 'InvalidRange'],
  ['a range of other units', '/file', { headers: { range: 'lines=1-2' } }, 200],
  ['a range that ends before it begins', '/file', { headers: { range: 'bytes=3-1' } }, 200],
  ['a read of a directory', '/dir', {}, 404, 'NoSuchKey'],

  ['a copy onto itself', '/file', put({ [source]: 'VOLUME/file' }), 400, 'InvalidRequest'],
  ['a copy from another tenant', '/file', put({ [source]: 'OTHER/file' }), 404, 'NoSuchBucket'],
  ['a copy from no place', '/file', put({ [source]: 'file' }), 400, 'InvalidArgument'],
  ['a copy from what is no text', '/file', put({ [source]: '%ff/file' }), 400, 'InvalidURI'],
  ['a copy from a path that leads out', '/file', put({ [source]: 'VOLUME/../file' }), 400, 'InvalidArgument'],
  ['a copy of a directory', '/file', put({ [source]: 'VOLUME/dir/' }), 400, 'InvalidRequest'],
  ['a copy to a directory', '/copy/', put({ [source]: 'VOLUME/file' }), 400, 'InvalidArgument'],

  ['a delete if it matches', '/file', { method: 'DELETE', headers: { 'if-match': '"x"' } }, 501, 'NotImplemented'],
  ['a delete of 1,001 keys', '?delete', deletion('<Key>x</Key>', 1_001), 400, 'MalformedXML'],
  ['a delete of no key', '?delete', deletion('<Name>x</Name>'), 400, 'MalformedXML'],
  ['a delete of a version', '?delete', deletion('<Key>file</Key><VersionId>1</VersionId>'), 200, 'NotImplemented'],
  ['a delete of a content', '?delete', deletion('<Key>file</Key><ETag>"x"</ETag>'), 200, 'NotImplemented'],
  ['half a document', '?delete', { method: 'POST', body: '<Delete><Object><Key>file' }, 400, 'MalformedXML'],
];

function base64Url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
function put(headers: Record<string, string>) {
  return { method: 'PUT', body: headers[source] === undefined ? 'evil' : '', headers };
}
function deletion(object: string, count = 1) {
  return { method: 'POST', body: `<Delete>${`<Object>${object}</Object>`.repeat(count)}</Delete>` };
}

describe('each bad request has its answer, and changes nothing:', () => {
  let bucket: VolumeId;
  let other: VolumeId;
  beforeAll(async () => {
    [bucket, other] = [await server.addVolume(alice), await server.addVolume(await server.addPerson('other'))];
    await writeFile(join(server.pathOf(other), 'file'), 'theirs');
    await mkdir(join(server.pathOf(bucket), 'dir'));
    await writeFile(join(server.pathOf(bucket), 'file'), 'mine');
  });

  test.each(BAD)('%s', async (_, target, { headers = {}, ...more }, status, code) => {
    const names = (text: string) => text.replace('VOLUME', bucket).replace('OTHER', other);
    const sent = Object.entries(headers).map(([name, value]) => [name, Buffer.from(names(value)).toString('latin1')]);
    const answer = await send(`/s3/${bucket}${target}`, {
      ...more,
      headers: { ...asAlice(), ...Object.fromEntries(sent) },
    });
    expect([answer.status, codeOf(answer.text)], answer.text).toEqual([status, code]);
    const path = server.pathOf(bucket);
    expect(await readFile(join(path, 'file'), 'utf8')).toBe('mine');
    expect((await readdir(path)).filter((name) => !['.podyard-s3', 'new'].includes(name))).toEqual(['dir', 'file']);
    expect(await hidden(bucket).catch(() => [])).toEqual([]);
  });

  test('a client that waits to be asked for its body gets the refusal at once', async () => {
    const { hostname, port } = new URL(server.endpoint);
    const socket = connect(Number(port), hostname);
    const lines = [`PUT /s3/${bucket}/a//b HTTP/1.1`, 'Host: x', `Authorization: Bearer ${alice.apiKey}`];
    socket.write(`${[...lines, 'Expect: 100-continue', 'Content-Length: 4'].join('\r\n')}\r\n\r\n`);
    let text = '';
    socket.on('data', (chunk) => (text += chunk));
    await expect.poll(() => codeOf(text)).toBe('InvalidArgument');
    socket.destroy();
  });
});
