import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type S3Person, type S3TestKey, type S3TestServer, startS3Server } from '../../../test/s3-server.ts';
import type { VolumeId } from '../../core/ids.ts';

let server: S3TestServer;
let alice: S3Person;
let bob: S3Person;
let key: S3TestKey;
let s3: S3Client;
let Bucket: VolumeId;
beforeAll(async () => {
  server = await startS3Server();
  [alice, bob] = [await server.addPerson('alice'), await server.addPerson('bob')];
  Bucket = await server.addVolume(alice);
  key = await server.addKey(alice, 'files:write');
  s3 = server.client(key);
  await put(s3, 'file');
});
afterAll(() => server.close());

const put = (client: S3Client, Key: string, bucket = Bucket) =>
  client.send(new PutObjectCommand({ Bucket: bucket, Key, Body: 'x' }));
const get = (client: S3Client, bucket: string = Bucket) =>
  client.send(new GetObjectCommand({ Bucket: bucket, Key: 'file' }));
const list = (client: S3Client) => client.send(new ListObjectsV2Command({ Bucket }));
const codeOf = async (response: Response) => /<Code>(\w+)<\/Code>/.exec(await response.text())?.[1];

describe('a signature', () => {
  test('with another secret, or an unknown access key id, is refused', async () => {
    const wrong = server.client({ id: key.id, secret: `${key.secret}x` });
    await expect(get(wrong)).rejects.toMatchObject({ name: 'SignatureDoesNotMatch' });
    await expect(get(server.client({ id: 'nobody', secret: 'x' }))).rejects.toMatchObject({
      name: 'InvalidAccessKeyId',
    });
  });

  test.each([-16, 16])('made by a clock that is %i minutes off is RequestTimeTooSkewed', async (minutes) => {
    // The client would correct its clock by the answer and try again.
    const off = server.client(key, { systemClockOffset: minutes * 60_000, maxAttempts: 1 });
    const refused = await off.send(new GetObjectCommand({ Bucket, Key: 'file' })).catch((error) => error);
    expect(refused).toMatchObject({ name: 'RequestTimeTooSkewed' });
    expect(refused.message).toContain('15 minutes');
  });

  test('made by a clock that is 14 minutes off is taken', async () => {
    await get(server.client(key, { systemClockOffset: 14 * 60_000 }));
  });

  test('of a key that was revoked is refused at once', async () => {
    const gone = await server.addKey(alice, 'files:write');
    const client = server.client(gone);
    await get(client);
    await gone.revoke();
    await expect(get(client)).rejects.toMatchObject({ name: 'InvalidAccessKeyId' });
  });

  test('is required', async () => {
    const response = await fetch(`${server.endpoint}/${Bucket}/file`);
    expect([response.status, await codeOf(response)]).toEqual([403, 'AccessDenied']);
    const malformed = await fetch(`${server.endpoint}/${Bucket}/file`, {
      headers: { authorization: 'AWS4-HMAC-SHA256 x' },
    });
    expect([malformed.status, await codeOf(malformed)]).toEqual([400, 'AuthorizationHeaderMalformed']);
  });
});

describe('a presigned URL', () => {
  const sign = (more = {}) =>
    getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'file' }), { expiresIn: 60, ...more });

  test('reads and writes without a key', async () => {
    expect(await (await fetch(await sign())).text()).toBe('x');
    const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: 'signed/ü (1)' }), { expiresIn: 60 });
    expect((await fetch(url, { method: 'PUT', body: 'by URL' })).status).toBe(200);
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: 'signed/ü (1)' }));
    expect(await Body!.transformToString()).toBe('by URL');
  });

  test('is valid for its own request only, and until it expires', async () => {
    const url = await sign();
    expect(await codeOf(await fetch(url, { method: 'PUT', body: 'x' }))).toBe('SignatureDoesNotMatch');
    expect(await codeOf(await fetch(url.replace('/file?', '/other?')))).toBe('SignatureDoesNotMatch');
    expect(await codeOf(await fetch(url.replace('X-Amz-Expires=60', 'X-Amz-Expires=600')))).toBe(
      'SignatureDoesNotMatch',
    );
    expect(await codeOf(await fetch(url.replace('X-Amz-Expires=60', 'X-Amz-Expires=604801')))).toBe(
      'AuthorizationQueryParametersError',
    );
    const expired = await fetch(await sign({ signingDate: new Date(Date.now() - 61_000) }));
    expect([expired.status, await codeOf(expired)]).toEqual([403, 'AccessDenied']);
  });
});

describe('tenants', () => {
  test('a volume of another user and one that does not exist look alike', async () => {
    const client = server.client(await server.addKey(bob, 'files:write'));
    const messages = new Set<string>();
    for (const bucket of [Bucket, 'a0000000000000']) {
      for (const send of [() => get(client, bucket), () => put(client, 'x', bucket as VolumeId)]) {
        const error = await send().catch((thrown) => thrown);
        expect(error.name).toBe('NoSuchBucket');
        messages.add(error.message);
      }
    }
    expect(messages.size).toBe(1);
  });

  test('a copy cannot name another user’s volume as its source', async () => {
    const own = await server.addVolume(bob);
    const client = server.client(await server.addKey(bob, 'files:write'));
    const { CopyObjectCommand } = await import('@aws-sdk/client-s3');
    const copy = client.send(new CopyObjectCommand({ Bucket: own, Key: 'stolen', CopySource: `${Bucket}/file` }));
    await expect(copy).rejects.toMatchObject({ name: 'NoSuchBucket' });
  });

  test('a key that reads cannot write, and one of a volume reaches no other', async () => {
    const reader = server.client(await server.addKey(alice, 'files:read'));
    await get(reader);
    await expect(put(reader, 'x')).rejects.toMatchObject({ name: 'AccessDenied' });
    const other = await server.addVolume(alice);
    const ofOther = server.client(await server.addKey(alice, `files/${other}:write`));
    await put(ofOther, 'x', other);
    await expect(list(ofOther)).rejects.toMatchObject({ name: 'AccessDenied' });
    await expect(get(ofOther, 'a0000000000000')).rejects.toMatchObject({ name: 'AccessDenied' });
  });

  test('an API key is taken as a bearer token, if it has the scope files', async () => {
    const read = (apiKey: string) =>
      fetch(`${server.endpoint}/${Bucket}/file`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(await (await read(alice.apiKey)).text()).toBe('x');
    expect(await codeOf(await read(bob.apiKey))).toBe('NoSuchBucket');
    expect((await read('pyk_wrong')).status).toBe(401);
  });
});

test('what is not offered is NotImplemented, with a sentence', async () => {
  for (const [method, path] of [
    ['GET', `/${Bucket}?acl`],
    ['PUT', `/${Bucket}?policy`],
    ['DELETE', `/${Bucket}`],
    ['GET', `/${Bucket}/file?tagging`],
    ['GET', `/${Bucket}/file?versionId=1`],
    ['PATCH', `/${Bucket}/file`],
  ] as const) {
    const headers = { authorization: `Bearer ${alice.apiKey}` };
    const response = await fetch(server.endpoint + path, { method, headers });
    const text = await response.text();
    expect([response.status, text]).toEqual([501, expect.stringContaining('<Code>NotImplemented</Code>')]);
  }
});

describe('a body in signed chunks', () => {
  const hmac = (secret: string | Buffer, text: string) => createHmac('sha256', secret).update(text).digest();
  const sha = (text: string) => createHash('sha256').update(text).digest('hex');

  /** Sends chunks as clients of before did, and as those do that sign their trailers. */
  async function send(chunks: string[], options: { damage?: (body: string) => string; isTrailing?: boolean } = {}) {
    const url = new URL(`${server.endpoint}/${Bucket}/chunked`);
    const date = `${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`;
    const scope = `${date.slice(0, 8)}/EU-RO-1/s3/aws4_request`;
    const payload = `STREAMING-AWS4-HMAC-SHA256-PAYLOAD${options.isTrailing ? '-TRAILER' : ''}`;
    const headers: Record<string, string> = {
      host: url.host,
      'x-amz-content-sha256': payload,
      'x-amz-date': date,
      'x-amz-decoded-content-length': String(chunks.join('').length),
      ...(options.isTrailing ? { 'x-amz-trailer': 'x-amz-checksum-sha256' } : {}),
    };
    const names = Object.keys(headers).sort();
    const canonical = [
      'PUT',
      url.pathname,
      '',
      ...names.map((name) => `${name}:${headers[name]}`),
      '',
      names.join(';'),
      payload,
    ];
    const signingKey = scope.split('/').reduce<Buffer>((k, part) => hmac(k, part), Buffer.from(`AWS4${key.secret}`));
    const sign = (...lines: string[]) => hmac(signingKey, lines.join('\n')).toString('hex');
    let before = sign('AWS4-HMAC-SHA256', date, scope, sha(canonical.join('\n')));
    const authorization = `AWS4-HMAC-SHA256 Credential=${key.id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${before}`;
    let body = '';
    for (const chunk of [...chunks, '']) {
      before = sign('AWS4-HMAC-SHA256-PAYLOAD', date, scope, before, sha(''), sha(chunk));
      body += `${chunk.length.toString(16)};chunk-signature=${before}\r\n${chunk}${chunk === '' ? '' : '\r\n'}`;
    }
    if (options.isTrailing) {
      const trailer = `x-amz-checksum-sha256:${createHash('sha256').update(chunks.join('')).digest('base64')}`;
      const signature = sign('AWS4-HMAC-SHA256-TRAILER', date, scope, before, sha(`${trailer}\n`));
      body += `${trailer}\r\nx-amz-trailer-signature:${signature}\r\n`;
    }
    body = (options.damage ?? ((text) => text))(`${body}\r\n`);
    const { host: _, ...sent } = headers;
    return fetch(url, { method: 'PUT', headers: { ...sent, authorization }, body });
  }

  const read = async () => {
    const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key: 'chunked' }));
    return Body!.transformToString();
  };

  test.each([false, true])('is stored if every signature is right (with signed trailers: %s)', async (isTrailing) => {
    const chunks = ['a'.repeat(65_536), `b${isTrailing}`];
    const response = await send(chunks, { isTrailing });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(await read()).toBe(chunks.join(''));
  });

  test.each([
    ['changed content', (body: string) => body.replace('good', 'evil'), 'SignatureDoesNotMatch'],
    ['no signature', (body: string) => body.replace(/;chunk-signature=\w+/, ''), 'SignatureDoesNotMatch'],
    ['its end missing', (body: string) => body.slice(0, body.lastIndexOf('0;')), 'IncompleteBody'],
    ['a size that is no number', (body: string) => `z${body}`, 'InvalidRequest'],
    ['a line without an end', () => 'x'.repeat(100_000), 'InvalidRequest'],
  ])('with %s leaves nothing', async (_, damage, code) => {
    await send(['before']);
    expect(await codeOf(await send(['good'], { damage }))).toBe(code);
    expect(await read()).toBe('before');
    expect(await readdir(join(server.pathOf(Bucket), '.podyard-s3'))).toEqual([]);
  });

  test.each([
    ['content', (body: string) => body.replace('good', 'evil')],
    ['checksum', (body: string) => body.replace(/sha256:\w/, 'sha256:!')],
    ['signature', (body: string) => body.replace(/trailer-signature:\w/, 'trailer-signature:!')],
    ['missing signature', (body: string) => body.replace(/x-amz-trailer-signature:\w+\r\n/, '')],
  ])('with signed trailers notices changed %s', async (_, damage) => {
    expect(await codeOf(await send(['good'], { damage, isTrailing: true }))).toBe('SignatureDoesNotMatch');
  });
});

test('a client that closes its connection in the middle of a body leaves nothing', async () => {
  const { hostname, port } = new URL(server.endpoint);
  const socket = connect(Number(port), hostname);
  const head = `PUT /s3/${Bucket}/cut HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.apiKey}\r\nContent-Length: 1000000\r\n\r\n`;
  socket.write(head + 'x'.repeat(200_000));
  const folder = join(server.pathOf(Bucket), '.podyard-s3');
  await expect.poll(() => readdir(folder)).toHaveLength(1);
  socket.destroy();
  await once(socket, 'close');
  await expect.poll(() => readdir(folder)).toEqual([]);
  const keys = (await list(s3)).Contents!.map(({ Key }) => Key);
  expect(keys).not.toContain('cut');
});

test('the bytes of a volume are counted at once, and its size is a limit', async () => {
  const small = await server.addVolume(alice, 10);
  const { pool } = server.database;
  const used = async () =>
    (await pool.query('select used_bytes::int8 as used from network_volumes where id = $1', [small])).rows[0].used;
  await put(s3, 'one', small);
  expect(await used()).toBe(1);
  await put(s3, 'one', small);
  expect(await used()).toBe(1);
  await pool.query('update network_volumes set used_bytes = 10 * 1073741824::int8 where id = $1', [small]);
  await expect(put(s3, 'two', small)).rejects.toMatchObject({ name: 'QuotaExceeded' });
  expect(await used()).toBe(10 * 2 ** 30);
});
