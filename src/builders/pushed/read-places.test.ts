import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { readConfig } from '../../config/config.ts';
import { Engine } from '../../engine/engine.ts';
import { readBuildEngine, readBuildRegistry } from './read-places.ts';

const folder = mkdtempSync(join(tmpdir(), 'podyard-builds-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const config = (env: Record<string, string>) => readConfig({}, env);
const registry = (text: string, host = 'registry.example.com') =>
  readBuildRegistry(
    config({
      PODYARD_BUILD_REGISTRY: `${host}/team/podyard`,
      PODYARD_BUILD_REGISTRY_AUTH: file('config.json', text),
    }),
  );
const base64 = (text: string) => Buffer.from(text).toString('base64');

test('a registry without credentials is open, and none is none', async () => {
  expect(await readBuildRegistry(config({}))).toBeNull();
  const open = await readBuildRegistry(config({ PODYARD_BUILD_REGISTRY: 'registry.example.com:5000/podyard' }));
  expect(open).toEqual({ host: 'registry.example.com:5000', repository: 'podyard', auth: null });
});

test.each<[string, object, string?]>([
  ['as docker login writes them', { 'registry.example.com': { auth: base64('ann:pass:word') } }],
  ['as kubectl writes them', { 'registry.example.com': { username: 'ann', password: 'pass:word', auth: 'x' } }],
  ['of an address', { 'https://registry.example.com': { auth: base64('ann:pass:word') } }],
  ['of Docker Hub', { 'https://index.docker.io/v1/': { auth: base64('ann:pass:word') } }, 'docker.io'],
])('credentials are read %s', async (_how, auths, host) => {
  const found = await registry(JSON.stringify({ auths }), host);
  expect(found).toMatchObject({ repository: 'team/podyard', auth: { username: 'ann', password: 'pass:word' } });
});

test.each([
  ['{', 'it is no JSON'],
  ['{}', 'has no credentials for registry.example.com'],
  [JSON.stringify({ auths: { 'registry.example.com': {} } }), 'credsStore'],
])('a file %s is refused in words that name it and no password', async (text, why) => {
  await expect(registry(text)).rejects.toThrow(why);
  await expect(registry(text)).rejects.toThrow(/^PODYARD_BUILD_REGISTRY_AUTH: .*config\.json /);
});

test.each([
  [{ PODYARD_BUILD_ENGINE: 'docker' }, 'must be tcp://<host>:<port> or unix:///<path>'],
  [{ PODYARD_BUILD_ENGINE: 'tcp://builder' }, 'must be tcp://<host>:<port>'],
  [{ PODYARD_BUILD_REGISTRY: 'podyard' }, 'must be a registry and a repository'],
  [{ PODYARD_BUILD_REGISTRY: 'podyard/builds' }, 'must be a registry and a repository'],
  [{ PODYARD_BUILD_REGISTRY: 'r.example.com/podyard:1' }, 'must be a registry and a repository'],
])('%j is refused at the start', (env, why) => expect(() => config(env)).toThrow(why));

test('an engine of another machine takes certificates', async () => {
  const read = (env: Record<string, string>) => readBuildEngine(config(env));
  await expect(read({ PODYARD_BUILD_ENGINE: 'tcp://builder.internal:2375' })).rejects.toThrow(
    'PODYARD_BUILD_ENGINE_CERTIFICATES is not set, but builder.internal is another machine',
  );
  await expect(
    read({ PODYARD_BUILD_ENGINE: 'tcp://b.internal:2376', PODYARD_BUILD_ENGINE_CERTIFICATES: '/nowhere' }),
  ).rejects.toThrow(/PODYARD_BUILD_ENGINE_CERTIFICATES: .*\/nowhere\/(?:ca|cert|key)\.pem/);
  expect(await read({ PODYARD_BUILD_ENGINE: 'tcp://127.0.0.1:2375' })).toEqual({
    host: '127.0.0.1',
    port: 2375,
    tls: null,
  });
  expect(await read({ PODYARD_BUILD_ENGINE: 'unix:///run/docker.sock' })).toEqual({ socketPath: '/run/docker.sock' });
  expect(await read({})).toBeUndefined();
});

test('an engine is spoken to with TLS: it proves who it is, and so does Podyard', async () => {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj'];
  openssl('req', '-x509', ...made, '/CN=authority', '-keyout', 'ca-key.pem', '-out', 'ca.pem');
  for (const [name, subject] of [
    ['server', '/CN=127.0.0.1'],
    ['client', '/CN=podyard'],
  ] as const) {
    openssl('req', ...made, subject, '-keyout', `${name}-key.pem`, '-out', `${name}.csr`);
    file('names', 'subjectAltName=IP:127.0.0.1');
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca-key.pem', '-CAcreateserial', '-days', '2', '-extfile', 'names'];
    openssl('x509', '-req', '-in', `${name}.csr`, ...signed, '-out', `${name}.pem`);
  }
  const text = (name: string) => readFileSync(join(folder, name), 'utf8');
  file('cert.pem', text('client.pem'));
  file('key.pem', text('client-key.pem'));
  const options = { key: text('server-key.pem'), cert: text('server.pem'), ca: text('ca.pem') };
  const seen: string[] = [];
  const server = createServer({ ...options, requestCert: true, rejectUnauthorized: true }, (req, res) => {
    seen.push(String((req.socket as TLSSocket).getPeerCertificate().subject.CN));
    res.setHeader('content-type', 'application/json').end('{"Version":"27.0.0","ApiVersion":"1.46"}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { PODYARD_BUILD_ENGINE: `tcp://127.0.0.1:${port}`, PODYARD_BUILD_ENGINE_CERTIFICATES: folder };
  const address = await readBuildEngine(config(env));
  expect((await new Engine(address).kind()).builds).toBe('buildkit');
  expect(seen).toEqual(['podyard']);
  openssl('req', '-x509', ...made, '/CN=another', '-keyout', 'other-key.pem', '-out', 'ca.pem');
  const stranger = await readBuildEngine(config(env));
  await expect(new Engine(stranger).kind()).rejects.toMatchObject({ kind: 'unavailable' });
  server.closeAllConnections();
  server.close();
});
