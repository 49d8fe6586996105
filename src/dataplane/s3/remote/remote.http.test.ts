import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type S3Person, type S3TestServer, startS3Server } from '../../../../test/s3-server.ts';
import { fileServersLoop } from '../../../control/housekeeping/keep-file-servers.ts';
import type { VolumeId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { FileServerPods } from '../../../runtimes/runtime.ts';
import { type FileServer, serveFiles } from './serve-files.ts';

/** File servers as the cluster runs them, on this machine. */
class LocalFileServers implements FileServerPods {
  hindrance: string | null = null;
  readonly running = new Map<string, FileServer>();
  readonly tokens = new Map<string, string>();
  readonly #pathOf: (volume: VolumeId) => string;

  constructor(pathOf: (volume: VolumeId) => string) {
    this.#pathOf = pathOf;
  }

  async find(id: string) {
    const { port } = this.running.get(id) ?? {};
    return port === undefined ? null : { host: '127.0.0.1', port };
  }

  async start({ id }: { id: string }, _: unknown, token: string) {
    this.tokens.set(id, token);
    const options = { port: 0, token, idleMs: 60_000, logger: silentLogger };
    this.running.set(id, await serveFiles({ ...options, root: this.#pathOf(id as VolumeId) }));
  }

  async kill(id: string) {
    const server = this.running.get(id);
    this.running.delete(id);
    await server?.close();
  }

  async sweep() {}
}

let server: S3TestServer;
let files: LocalFileServers;
let loop: ReturnType<typeof fileServersLoop>;
let alice: S3Person;
let volume: VolumeId;
let s3: S3Client;
beforeAll(async () => {
  server = await startS3Server(({ database: { pool }, pathOf, bus, secretBox }) => {
    files = new LocalFileServers(pathOf);
    loop = fileServersLoop({ pool, bus, secretBox, logger: silentLogger, fileServers: files });
    return files;
  });
  loop.start();
  alice = await server.addPerson('alice');
  volume = await server.addVolume(alice);
  s3 = server.client(await server.addKey(alice, 'files:write'));
});
afterAll(async () => {
  await loop?.stop();
  for (const id of files?.running.keys() ?? []) await files.kill(id);
  await server?.close();
});

const put = (Key: string, Body: string | Buffer, more = {}) =>
  s3.send(new PutObjectCommand({ Bucket: volume, Key, Body, ...more }));
const get = async (Key: string, more = {}) =>
  (await s3.send(new GetObjectCommand({ Bucket: volume, Key, ...more }))).Body!.transformToString();
const keys = async () =>
  (await s3.send(new ListObjectsV2Command({ Bucket: volume }))).Contents?.map(({ Key }) => Key) ?? [];

test('the first request has the file server started; S3 and pods then see the same files', async () => {
  const { ETag, ChecksumCRC32 } = await put('in/a file', 'of S3');
  expect(ChecksumCRC32).toBeDefined(); // it came behind the content, and was checked before that left
  expect(readFileSync(join(server.pathOf(volume), 'in/a file'), 'utf8')).toBe('of S3');
  appendFileSync(join(server.pathOf(volume), 'in/a file'), ' and a pod');
  expect(await get('in/a file')).toBe('of S3 and a pod');
  expect(await get('in/a file', { Range: 'bytes=6-8' })).toBe('and');
  await expect(get('in/a file', { IfMatch: ETag })).rejects.toMatchObject({ name: 'PreconditionFailed' });
  await expect(get('missing')).rejects.toMatchObject({ name: 'NoSuchKey' });
  expect(files.running.size).toBe(1);
});

test('uploads in parts, copies, presigned URLs and deletions pass', async () => {
  const content = randomBytes(6 * 2 ** 20);
  const at = { Bucket: volume, Key: 'large' };
  const { UploadId } = await s3.send(new CreateMultipartUploadCommand(at));
  const parts = [content.subarray(0, 5 * 2 ** 20), content.subarray(5 * 2 ** 20)];
  const Parts = await Promise.all(
    parts.map(async (Body, i) => {
      const { ETag } = await s3.send(new UploadPartCommand({ ...at, UploadId, PartNumber: i + 1, Body }));
      return { ETag, PartNumber: i + 1 };
    }),
  );
  await s3.send(new CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload: { Parts } }));
  await s3.send(new CopyObjectCommand({ ...at, Key: 'copy', CopySource: `${volume}/large` }));
  const url = await getSignedUrl(s3, new GetObjectCommand({ ...at, Key: 'copy' }));
  expect(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(content)).toBe(true);
  const Objects = [{ Key: 'large' }, { Key: 'copy' }];
  await s3.send(new DeleteObjectsCommand({ Bucket: volume, Delete: { Objects } }));
  expect(await keys()).toEqual(['in/a file']);
});

test('what is not as it was signed is refused, and leaves nothing', async () => {
  const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket: volume, Key: 'wrong' }));
  const headers = { 'content-md5': 'AAAAAAAAAAAAAAAAAAAAAA==' };
  const response = await fetch(url, { method: 'PUT', body: 'else', headers });
  expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('BadDigest')]);
  expect(await keys()).toEqual(['in/a file']);
});

test('no link leads out of the volume', async () => {
  symlinkSync('/etc', join(server.pathOf(volume), 'out'));
  await expect(get('out/hostname')).rejects.toMatchObject({ name: 'NoSuchKey' });
  await expect(put('out/x', 'x')).rejects.toMatchObject({ name: 'ObjectParentIsFile' });
  await expect(put('../x', 'x')).rejects.toThrow();
});

test('a volume takes no more than its size', async () => {
  const { pool } = server.database;
  await pool.query('update network_volumes set used_bytes = size_gb * 1073741824::int8 - 10 where id = $1', [volume]);
  await put('ten', '0123456789');
  await expect(put('more', 'x')).rejects.toMatchObject({ name: 'QuotaExceeded' });
  await expect(put('more', randomBytes(20 * 2 ** 20))).rejects.toMatchObject({ name: 'QuotaExceeded' });
  await pool.query('update network_volumes set used_bytes = 0 where id = $1', [volume]);
  await put('more', 'x');
});

test('a file server that was killed in the middle of a put is started again by the next request', async () => {
  const headers = { authorization: `Bearer ${alice.apiKey}`, 'content-length': 2 ** 21 };
  const half = request(`${server.endpoint}/${volume}/half`, { method: 'PUT', headers });
  const answered = once(half, 'response');
  half.write(randomBytes(2 ** 20));
  await expect.poll(() => readdirSync(join(server.pathOf(volume), '.podyard-s3')).length).toBe(1);
  await files.kill(volume);
  half.end(randomBytes(2 ** 20));
  const [answer] = await answered;
  expect(answer.statusCode).toBe(503);
  answer.resume();
  expect(await keys()).not.toContain('half');
  expect(files.running.size).toBe(1);
});

test('volumes of others, and file servers themselves, are closed', async () => {
  const bob = await server.addPerson('bob');
  const own = await server.addVolume(bob);
  const other = server.client(await server.addKey(bob, 'files:write'));
  await other.send(new PutObjectCommand({ Bucket: own, Key: 'his', Body: 'secret' }));
  await expect(s3.send(new GetObjectCommand({ Bucket: own, Key: 'his' }))).rejects.toMatchObject({
    name: 'NoSuchBucket',
  });
  const copy = new CopyObjectCommand({ Bucket: volume, Key: 'x', CopySource: `${own}/his` });
  await expect(s3.send(copy)).rejects.toMatchObject({ name: 'NotImplemented' });
  expect(files.tokens.get(own)).not.toBe(files.tokens.get(volume));
  for (const token of [{}, { 'x-podyard-files': files.tokens.get(volume)! }]) {
    const headers = { 'x-podyard-volume': JSON.stringify({ id: own, sizeGb: 10, usedBytes: 0 }), ...token };
    const response = await fetch(`http://127.0.0.1:${files.running.get(own)!.port}/s3/${own}/his`, { headers });
    expect(response.status).toBe(403);
  }
});

test('a file server ends once nobody asks, and the server says why there is none', async () => {
  const root = server.pathOf(volume);
  const idle = await serveFiles({ root, port: 0, token: 't', idleMs: 10, logger: silentLogger });
  await idle.idle;
  await idle.close();
  files.hindrance = 'no image serves them';
  await expect(get('more')).rejects.toMatchObject({
    name: 'NotImplemented',
    message: expect.stringContaining('no image serves them. Start a pod with the volume, and copy with: podyard cp'),
  });
  files.hindrance = null;
});
