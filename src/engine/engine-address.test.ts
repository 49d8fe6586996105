import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readEngineAddress } from './engine-address.ts';

const folder = mkdtempSync(join(tmpdir(), 'podyard-certificates-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.each([
  [undefined, { socketPath: expect.stringMatching(/docker\.sock$/) }],
  ['unix://', { socketPath: expect.stringMatching(/docker\.sock$/) }],
  ['unix:///run/podman/podman.sock', { socketPath: '/run/podman/podman.sock' }],
  ['tcp://127.0.0.1:4243', { host: '127.0.0.1', port: 4243, tls: null }],
  ['127.0.0.1:4243', { host: '127.0.0.1', port: 4243, tls: null }],
  ['tcp://[::1]', { host: '::1', port: 2375, tls: null }],
  ['http://engine.internal', { host: 'engine.internal', port: 2375, tls: null }],
  ['ssh://me@gpu-1.internal:2222', { host: 'gpu-1.internal', port: 2222, ssh: { user: 'me' } }],
  ['ssh://gpu-1.internal', { host: 'gpu-1.internal', port: null, ssh: { user: null } }],
])('DOCKER_HOST=%s', (given, address) => {
  expect(readEngineAddress({ DOCKER_HOST: given })).toEqual(address);
});

test.each([
  [{ DOCKER_HOST: 'tcp://engine.internal:2376' }],
  [{ DOCKER_HOST: 'https://engine.internal:2376' }],
  [{ DOCKER_HOST: 'tcp://engine.internal', DOCKER_TLS_VERIFY: '1' }],
])('the certificates of %o are read', (env) => {
  const broken = () => readEngineAddress({ ...env, DOCKER_CERT_PATH: join(folder, 'nothing') });
  expect(broken).toThrow(/The certificates for DOCKER_HOST cannot be read.*ca\.pem/);
  for (const name of ['ca', 'cert', 'key']) writeFileSync(join(folder, `${name}.pem`), name);
  const tls = { ca: 'ca', cert: 'cert', key: 'key' };
  expect(readEngineAddress({ ...env, DOCKER_CERT_PATH: folder })).toEqual({ host: 'engine.internal', port: 2376, tls });
});

test.each(['npipe:////./pipe/docker_engine', 'tcp://', 'what ever'])(
  '%s is refused with the forms it may have',
  (given) => {
    const refusal = { kind: 'unavailable', message: expect.stringMatching(/^DOCKER_HOST '.*such as unix:\/\/\/path/) };
    expect(() => readEngineAddress({ DOCKER_HOST: given })).toThrow(expect.objectContaining(refusal));
  },
);
