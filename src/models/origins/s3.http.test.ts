import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useOf } from '../../../test/model-hub.ts';
import { type S3TestKey, type S3TestServer, startS3Server } from '../../../test/s3-server.ts';
import type { UserId, VolumeId, WorkerId } from '../../core/ids.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { parseModelReference } from '../../domain/models/model-reference.ts';
import { ModelStore } from '../store/model-store.ts';
import { createModelOrigins } from './model-origins.ts';

/** docs/interface/models.md. The service is Podyard's own S3, which checks signatures as Amazon's documentation says. */
const content = randomBytes(3_000_000);
const sha256 = createHash('sha256').update(content).digest('hex');
const webhooks = new WebhookPolicy({ allowPrivate: false, allowed: [{ network: '127.0.0.1', port: null }] });
const origins = createModelOrigins({ hubUrl: 'http://127.0.0.1:9', webhooks });
const root = mkdtempSync(join(tmpdir(), 'podyard-models-'));
let server: S3TestServer;
let volume: VolumeId;
let key: S3TestKey;
beforeAll(async () => {
  server = await startS3Server();
  const alice = await server.addPerson('alice');
  volume = await server.addVolume(alice);
  key = await server.addKey(alice, 'files:read');
  await writeFile(join(server.pathOf(volume), "it's (a) model+1.gguf"), content);
});
afterAll(async () => {
  await server.close();
  rmSync(root, { recursive: true, force: true });
});

const secretOf = ({ id, secret }: S3TestKey) => `${id}:${secret}`;
const read = (name: string, secret: string | null, digest = sha256) =>
  origins.read(
    { source: 'S3', name: `s3://${volume}/${name}?endpoint=${server.endpoint}&region=EU-RO-1`, sha256: digest },
    secret,
  );
const store = () =>
  new ModelStore({
    ...{ root, hubUrl: 'http://127.0.0.1:9', parallel: 4, bytesPerSecond: null, budgetBytes: 100_000_000 },
    ...{ reach: webhooks, isShown: true, retryMs: 1 },
  });
const bring = async (found: Awaited<ReturnType<typeof read>>, secret: string) => {
  const model = { ...found, id: 'a'.repeat(64) };
  const workerId = 'w1' as WorkerId;
  const options = { userId: 'anna' as UserId, workerId, onProgress: () => {}, signal: new AbortController().signal };
  await store().bring([{ model, use: useOf(model), token: secret }], options);
  return join(root, 'workers', workerId, 'cache');
};

test('an object is found and fetched with a signature, whatever characters its key has', async () => {
  const name = "it's (a) model+1.gguf";
  const found = await read(name, secretOf(key));
  expect(found.files).toEqual([{ path: name, size: content.length, digest: `sha256:${sha256}` }]);
  const cache = await bring(found, secretOf(key));
  const host = new URL(server.endpoint).host.replace(':', '_');
  expect(readFileSync(join(cache, 's3', host, volume, name)).equals(content)).toBe(true);
});

test('an object with another digest is refused when it is fetched', async () => {
  await writeFile(join(server.pathOf(volume), 'other.gguf'), 'something else');
  const found = await read('other.gguf', secretOf(key));
  await expect(bring(found, secretOf(key))).rejects.toThrow(/'other.gguf' of the model 's3:.*differs from its digest/);
});

test.each<[string, string, () => string | null, RegExp]>([
  ['is not there', 'none.gguf', () => secretOf(key), /s3:.*none.gguf.* is not there, says 127.0.0.1/],
  ['needs a secret', 'x', () => null, /refuses s3:.* name a secret in tokenSecret that may read it/],
  ['has a wrong secret', 'x', () => `${key.id}:wrong`, /what the secret in tokenSecret holds is wrong/],
  ['has no pair', 'x', () => 'hf_token', /S3 takes a secret of the form ACCESS_KEY_ID:SECRET_ACCESS_KEY/],
])('one that %s is refused', async (_what, name, secret, message) => {
  const refused = await read(name, secret()).catch((error) => error);
  expect(refused).toMatchObject({ kind: 'badRequest', message: expect.stringMatching(message) });
  expect(refused.message).not.toContain(key.secret);
});

test('a service in a network that users may not reach is not asked', async () => {
  const strict = createModelOrigins({
    hubUrl: 'http://127.0.0.1:9',
    webhooks: new WebhookPolicy({ allowPrivate: false, allowed: [] }),
  });
  const reference = parseModelReference(`s3://models/a?endpoint=${server.endpoint}#sha256=${sha256}`);
  await expect(strict.read(reference, null)).rejects.toMatchObject({
    kind: 'badRequest',
    message: expect.stringContaining('--webhook-networks'),
  });
});
