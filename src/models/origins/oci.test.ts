import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { useOf } from '../../../test/model-hub.ts';
import type { UserId, WorkerId } from '../../core/ids.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { parseModelReference } from '../../domain/models/model-reference.ts';
import { ModelStore } from '../store/model-store.ts';
import { createModelOrigins } from './model-origins.ts';

/**
 * docs/interface/models.md. A registry that asks for a token of another server, and sends blobs by redirects to a third, as Docker Hub and GHCR do.
 * `oci.docker.test.ts` asks a real one.
 */
const weights = randomBytes(2_000_000);
const digestOf = (content: Buffer | string) => `sha256:${createHash('sha256').update(content).digest('hex')}` as const;
const layer = (content: Buffer, title?: string) => ({
  ...{ mediaType: 'application/octet-stream', digest: digestOf(content), size: content.length },
  ...(title !== undefined && { annotations: { 'org.opencontainers.image.title': title } }),
});
const manifestOf = (...layers: unknown[]) => JSON.stringify({ schemaVersion: 2, config: {}, layers });

const webhooks = new WebhookPolicy({ allowPrivate: false, allowed: [{ network: '127.0.0.1', port: null }] });
const origins = createModelOrigins({ hubUrl: 'http://127.0.0.1:9', webhooks });
const root = mkdtempSync(join(tmpdir(), 'podyard-models-'));
const asked: { server: string; path: string; authorization: string | undefined }[] = [];
let manifest: string;
let registry: string;
const servers: Server[] = [];
beforeAll(async () => {
  const cdn = await listen('cdn', (_req, res) => res.end(weights));
  const tokens = await listen('tokens', (req, res) => {
    const isRight = req.headers.authorization === `Basic ${Buffer.from('anna:pass:word').toString('base64')}`;
    if (isRight) res.end(JSON.stringify({ token: 'given', expires_in: 300 }));
    else res.writeHead(401).end();
  });
  registry = await listen('registry', (req, res) => {
    if (req.headers.authorization !== 'Bearer given') {
      const question = `Bearer realm="http://${tokens}/token",service="registry",scope="repository:m:pull"`;
      res.writeHead(401, { 'www-authenticate': question }).end('{"errors":[]}');
    } else if (req.url === '/v2/m/manifests/v1' || req.url === `/v2/m/manifests/${digestOf(manifest)}`)
      res.end(manifest);
    else if (req.url!.startsWith('/v2/m/manifests/sha256:')) res.end('{}');
    else if (req.url!.startsWith('/v2/m/blobs/')) res.writeHead(307, { location: `http://${cdn}/blob` }).end();
    else res.writeHead(404).end();
  });
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
  rmSync(root, { recursive: true, force: true });
});
beforeEach(() => {
  asked.length = 0;
  manifest = manifestOf(layer(weights, 'gguf/model.gguf'));
});

async function listen(name: string, answer: (req: IncomingMessage, res: ServerResponse) => void): Promise<string> {
  const server = createServer((req, res) => {
    asked.push({ server: name, path: req.url!, authorization: req.headers.authorization });
    answer(req, res);
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const read = (rest = 'm:v1', secret: string | null = 'anna:pass:word') =>
  origins.read(parseModelReference(`oci://${registry}/${rest}`), secret);

test('an artifact is resolved to the digest of its manifest, and its layers are files', async () => {
  const found = await read();
  expect(found).toEqual({
    ...{ source: 'OCI', name: `oci://${registry}/m`, commit: digestOf(manifest), task: null },
    files: [{ path: 'gguf/model.gguf', size: weights.length, digest: digestOf(weights) }],
  });
  expect(asked.map(({ server }) => server)).toEqual(['registry', 'tokens', 'registry']);
  expect(asked[1]!.path).toBe('/token?service=registry&scope=repository%3Am%3Apull');
  expect(await read(`m@${digestOf(manifest)}`)).toEqual(found);
  manifest = manifestOf(layer(weights));
  expect((await read()).files[0]!.path).toBe(digestOf(weights).replace(':', '-'));
});

test('its files are fetched, and neither password nor token reaches the server of the blobs', async () => {
  const model = { ...(await read()), id: 'a'.repeat(64) };
  const store = new ModelStore({
    ...{ root, hubUrl: 'http://127.0.0.1:9', parallel: 4, bytesPerSecond: null, budgetBytes: 100_000_000 },
    ...{ reach: webhooks, isShown: true, retryMs: 1 },
  });
  const options = { userId: 'anna' as UserId, onProgress: () => {}, signal: new AbortController().signal };
  await store.bring([{ model, use: useOf(model), token: 'anna:pass:word' }], {
    ...options,
    workerId: 'w1' as WorkerId,
  });
  const path = join(root, 'workers/w1/cache/oci', registry.replace(':', '_'), 'm/gguf/model.gguf');
  expect(readFileSync(path).equals(weights)).toBe(true);
  expect(asked.filter(({ server }) => server === 'cdn')).toEqual([
    { server: 'cdn', path: '/blob', authorization: undefined },
  ]);
  const others = { ...options, userId: 'ben' as UserId, workerId: 'w2' as WorkerId };
  await expect(store.bring([{ model, use: useOf(model), token: null }], others)).rejects.toThrow(
    /refuses the model 'oci:.*name a secret with a token that may read it/,
  );
});

test.each<[string, () => string, string, string | null, string]>([
  ['is not there', () => manifest, 'm:v2', 'anna:pass:word', 'm:v2 is not there'],
  ['may not be read by anybody', () => manifest, 'm:v1', null, 'name a secret in tokenSecret that may read it'],
  ['has a wrong password', () => manifest, 'm:v1', 'anna:wrong', 'what the secret in tokenSecret holds is wrong'],
  ['has no user', () => manifest, 'm:v1', 'token', 'registries take a secret of the form USER:PASSWORD'],
  ['is an index', () => '{"manifests":[]}', 'm:v1', 'anna:pass:word', 'of an index, name one of its manifests'],
  ['leads up', () => manifestOf(layer(weights, '../x')), 'm:v1', 'anna:pass:word', 'is not a path inside it'],
  [
    'has a name twice',
    () => manifestOf(layer(weights, 'a'), layer(Buffer.from('b'), 'a')),
    ...(['m:v1', 'anna:pass:word', "two of its layers are called 'a'"] as const),
  ],
])('an artifact that %s is refused', async (_what, make, rest, secret, message) => {
  manifest = make();
  await expect(read(rest, secret)).rejects.toMatchObject({
    kind: 'badRequest',
    message: expect.stringContaining(message),
  });
});

test('a manifest that differs from its digest, and one that is none, are the registry’s fault', async () => {
  const wrong = `sha256:${'ab'.repeat(32)}`;
  await expect(read(`m@${wrong}`)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('that differs from its digest'),
  });
  manifest = '<html>';
  await expect(read()).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('does not answer as a registry'),
  });
});
