import { hostname, networkInterfaces } from 'node:os';
import { afterEach, expect, test } from 'vitest';
import { registryPolicyOf } from '../../compose/build-server.ts';
import { readConfig } from '../../config/config.ts';
import { ANY_REGISTRY, checkRegistryAddress, findImageRefusal, useRegistries } from './registry-policy.ts';

afterEach(() => useRegistries(ANY_REGISTRY));

test.each([
  '169.254.169.254/a',
  '169.254.169.254:80/a',
  '169.254.1.2:5000/a/b:v1',
  '2852039166:80/a',
  '0xa9fea9fe.:80/a',
  '0xa9.0xfe.0xa9.0xfe/a',
  '0251.0376.0251.0376:80/a',
  '169.254.43518:80/a',
  '[fe80::1]/a',
  '[fe80::1]:5000/a',
  '[fd00:ec2::254]/a',
  '[::ffff:169.254.169.254]/a',
  '[::ffff:a9fe:a9fe]:80/a',
  '168.63.129.16:32526/a',
])("'%s' is refused: a link-local address", (image) => {
  expect(findImageRefusal(image)).toMatch(/link-local address|not a valid image reference/);
});

test.each([
  'a',
  'nginx:1',
  'ghcr.io/a/b',
  'localhost:5000/a',
  '127.0.0.1:5000/a',
  '10.0.0.5:5000/a',
  '[fd00::1]:5000/a',
])("'%s' is allowed by default", (image) => {
  expect(findImageRefusal(image)).toBeNull();
});

test("Podyard's own ports are refused by any name of the machine; the same ports elsewhere are not", async () => {
  const config = readConfig({ publicUrl: 'https://podyard.example.com' }, {});
  useRegistries(registryPolicyOf(config, { port: 8080, workerApiUrl: 'http://172.18.0.1:20123' }));
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const own = addresses.filter(({ family }) => family === 'IPv4').map(({ address }) => address);
  const hosts = [
    'localhost',
    'LocalHost',
    'x.localhost',
    '127.0.0.1',
    '127.1.2.3',
    '0.0.0.0',
    '[::1]',
    '[::ffff:7f00:1]',
  ];
  for (const host of [...hosts, ...own, hostname(), 'podyard.example.com']) {
    expect(findImageRefusal(`${host}:8080/a`), host).toContain('Podyard itself listens there');
    expect(findImageRefusal(`${host}:5000/a`), host).toBeNull();
  }
  expect(findImageRefusal('172.18.0.1:20123/a')).toContain('Podyard itself listens there');
  expect(findImageRefusal('192.0.2.77:8080/a')).toBeNull();
  await expect(checkRegistryAddress('localhost:8080/a')).rejects.toThrow('Podyard itself listens there');
  await expect(checkRegistryAddress('localhost:5000/a')).resolves.toBeUndefined();
  await expect(checkRegistryAddress('no-such-host.invalid/a')).resolves.toBeUndefined();
});

test('with --registries only matching ones are allowed; a refusal names them', () => {
  const config = readConfig({ registries: 'docker.io, ghcr.io,*.Example.com,team-*.lan:5000,10.0.0.1:*' }, {});
  useRegistries(registryPolicyOf(config, { port: 8080, workerApiUrl: '' }));
  for (const image of [
    'nginx',
    'library/nginx',
    'docker.io/a',
    'index.docker.io/a/b',
    'ghcr.io/a',
    'GHCR.io/a',
    'eu.example.com/a',
    'a.b.example.com/a',
    'team-a.lan:5000/a',
    '10.0.0.1:1234/a',
  ]) {
    expect(findImageRefusal(image), image).toBeNull();
  }
  for (const image of [
    'quay.io/a',
    'ghcr.io:22/a',
    'ghcr.io.evil.com/a',
    'evilghcr.io/a',
    'example.com/a',
    'eu.example.com:22/a',
    'team-a.lan/a',
    'team-a.lan:5001/a',
    'localhost:5000/a',
  ]) {
    expect(findImageRefusal(image), image).toContain('only from docker.io, ghcr.io, *.example.com');
  }
});

test('a wildcard of its own allows every registry, but still no link-local address', () => {
  useRegistries({ ...ANY_REGISTRY, allowed: ['*'] });
  expect(findImageRefusal('quay.io:8443/a')).toBeNull();
  expect(findImageRefusal('169.254.169.254/a')).toContain('link-local');
});

test('malformed patterns are refused', () => {
  for (const registries of ['ghcr.io/team', 'https://ghcr.io', 'a b', 'ghcr.io:x']) {
    expect(() => readConfig({ registries }, {})).toThrow(`--registries has '${registries}'`);
  }
});

test('images in the repository of builds are used by the names that builds gave them', () => {
  useRegistries({ ...ANY_REGISTRY, builds: { host: 'docker.io', repository: 'acme/builds' } });
  for (const image of ['acme/builds', 'docker.io/acme/builds:i1.app.b1', 'Index.docker.io/acme/builds@sha256:ab'])
    expect(findImageRefusal(image)).toContain('those of builds: use the name that the build gives its image');
  expect(findImageRefusal('acme/builds2')).toBeNull();
  expect(findImageRefusal('builds.podyard.internal/app:b7k2m9x4c1v8zt')).toBeNull();
});
