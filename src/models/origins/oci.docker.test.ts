import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hasRegistryProgram, PrivateRegistry } from '../../../test/containers/private-registry.ts';
import { WebhookPolicy } from '../../domain/jobs/webhook-policy.ts';
import { parseModelReference } from '../../domain/models/model-reference.ts';
import { createModelOrigins } from './model-origins.ts';

/** Against Debian's docker-registry, which takes a password. The artifact is pushed as a client of the specification does. */
const content = randomBytes(100_000);
const digestOf = (bytes: Buffer | string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const webhooks = new WebhookPolicy({ allowPrivate: false, allowed: [{ network: '127.0.0.1', port: null }] });
const origins = createModelOrigins({ hubUrl: 'http://127.0.0.1:9', webhooks });
const isThere = hasRegistryProgram();
let registry: PrivateRegistry;
let secret: string;
beforeAll(async () => {
  if (!isThere) return;
  registry = await PrivateRegistry.start();
  secret = `${registry.auth.username}:${registry.auth.password}`;
});
afterAll(() => registry?.dispose());

async function push(manifest: string): Promise<void> {
  const base = `http://${registry.host}/v2/ai/model`;
  const authorization = `Basic ${Buffer.from(secret).toString('base64')}`;
  const send = async (method: string, url: string, body: Buffer | string, type: string) => {
    const headers = { authorization, 'content-type': type };
    const response = await fetch(url, { method, headers, ...(method !== 'POST' && { body }) });
    expect(response.status, await response.text()).toBeLessThan(300);
    return response.headers.get('location')!;
  };
  for (const blob of [content, Buffer.from('{}')]) {
    const location = await send('POST', `${base}/blobs/uploads/`, '', 'text/plain');
    await send('PUT', `${location}&digest=${digestOf(blob)}`, blob, 'application/octet-stream');
  }
  await send('PUT', `${base}/manifests/v1`, manifest, 'application/vnd.oci.image.manifest.v1+json');
}

test.skipIf(!isThere)(
  'a model that was pushed to a registry is read with its password, by tag and by digest',
  async () => {
    const title = { 'org.opencontainers.image.title': 'model.gguf' };
    const descriptor = (bytes: Buffer) => ({ digest: digestOf(bytes), size: bytes.length });
    const manifest = JSON.stringify({
      schemaVersion: 2,
      mediaType: 'application/vnd.oci.image.manifest.v1+json',
      config: { mediaType: 'application/vnd.oci.empty.v1+json', ...descriptor(Buffer.from('{}')) },
      layers: [{ mediaType: 'application/octet-stream', ...descriptor(content), annotations: title }],
    });
    await push(manifest);
    const read = (rest: string, given: string | null) =>
      origins.read(parseModelReference(`oci://${registry.host}/${rest}`), given);
    const found = await read('ai/model:v1', secret);
    expect(found).toMatchObject({
      commit: digestOf(manifest),
      files: [{ path: 'model.gguf', digest: digestOf(content) }],
    });
    expect(await read(`ai/model@${digestOf(manifest)}`, secret)).toEqual(found);
    await expect(read('ai/model:v2', secret)).rejects.toThrow('is not there');
    await expect(read('ai/model:v1', `${registry.auth.username}:wrong`)).rejects.toThrow('(status 401)');
    await expect(read('ai/model:v1', null)).rejects.toThrow('name a secret in tokenSecret');
  },
);
