import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { testTerminal } from '../../../test/test-terminal.ts';
import { runCli } from '../run-cli.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { upgrade } from './upgrade.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const TOP = (version: string) => `podyard-${version}-linux-${process.arch}`;

let root: string;
let mirror: string;
let tree: string;
let key: string;
let printed: string[];
let noted: string[];
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-upgrade-test-'));
  [mirror, tree, key] = [join(root, 'mirror'), join(root, 'podyard/0.2.0'), join(root, 'key.pub')];
  await mkdir(mirror);
  await installTree();
  await writeFile(key, publicKey.export({ type: 'spki', format: 'pem' }));
  [printed, noted] = [[], []];
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function installTree(): Promise<void> {
  await mkdir(tree, { recursive: true });
  await writeFile(join(tree, 'VERSION'), '0.2.0\nabc\n');
  await writeFile(join(tree, 'install.sh'), '');
}

/** Puts an archive into the mirror whose installer writes down its arguments. */
async function publish(version: string, signedBy: KeyObject = privateKey): Promise<void> {
  const top = join(root, TOP(version));
  await mkdir(top);
  await writeFile(
    join(top, 'install.sh'),
    `echo "${version} $*" >${root}/called\nls "\${0%/*}" >${root}/beside\n[ ${version} != 0.9.0 ]\n`,
  );
  const archive = `${TOP(version)}.tar.gz`;
  execFileSync('tar', ['-czf', join(mirror, archive), '-C', root, TOP(version)]);
  const sum = createHash('sha256').update(await readFile(join(mirror, archive)));
  await appendFile(join(mirror, 'SHA256SUMS'), `${sum.digest('hex')}  ${archive}\n`);
  await writeFile(join(mirror, 'SHA256SUMS.sig'), sign(null, await readFile(join(mirror, 'SHA256SUMS')), signedBy));
}

const run = (options: { from?: string; key?: string | null; check?: boolean } = {}) =>
  upgrade(
    { from: mirror, key: null, check: false, tree, ...options },
    { print: (text) => printed.push(text), note: (text) => noted.push(text) },
  );
const called = () => readFile(join(root, 'called'), 'utf8').catch(() => null);

test('the newest version of a directory is checked and its own installer called', async () => {
  for (const version of ['0.3.0', '0.10.0', '0.10.0-rc.1']) await publish(version);
  expect(await run({ key })).toBe(0);
  expect(await called()).toMatch(
    new RegExp(`^0\\.10\\.0 --upgrade --yes --from \\S+/${TOP('0.10.0')}\\.tar\\.gz --key ${key}\n$`),
  );
  expect(noted).toEqual([]);
});

test('an archive may be named, and one in a home directory stays there', async () => {
  for (const version of ['0.3.0', '0.4.0']) await publish(version);
  tree = join(root, 'versions/0.2.0');
  await installTree();
  expect(await run({ from: join(mirror, `${TOP('0.3.0')}.tar.gz`) })).toBe(0);
  expect(await called()).toMatch(/^0\.3\.0 --upgrade --yes --from \S+ --user\n$/);
});

test('--check changes nothing, and the status is the installer’s', async () => {
  await publish('0.9.0');
  expect(await run({ check: true })).toBe(0);
  expect(printed).toEqual([`Podyard 0.9.0 is in ${mirror}; 0.2.0 is installed`]);
  expect(await called()).toBeNull();
  expect(await run()).toBe(1);
});

test('what is installed, or newer, is not replaced', async () => {
  await publish('0.2.0');
  expect(await run()).toBe(0);
  expect(printed).toEqual([`Podyard 0.2.0 is installed, and the newest in ${mirror} is 0.2.0`]);
  await writeFile(join(tree, 'VERSION'), '0.2.1\nabc\n');
  await expect(run()).rejects.toThrow('0.2.0 is older than 0.2.1, which is installed');
  expect(await called()).toBeNull();
});

test.each([
  ['another archive', 'is not what SHA256SUMS says', () => appendFile(join(mirror, `${TOP('0.3.0')}.tar.gz`), 'x')],
  ['other sums', 'SHA256SUMS is not signed by that key', () => appendFile(join(mirror, 'SHA256SUMS'), '\n')],
  ['no signature', 'SHA256SUMS.sig is missing', () => rm(join(mirror, 'SHA256SUMS.sig'))],
  ['no sums', '/mirror/SHA256SUMS: --from names an archive', () => rm(join(mirror, 'SHA256SUMS'))],
  ['no archive', `there is no /.*/mirror/${TOP('0.3.0')}`, () => rm(join(mirror, `${TOP('0.3.0')}.tar.gz`))],
  ['no key', 'there is no key /', () => rm(key)],
])('%s: refused before anything runs', async (_, refusal, spoil) => {
  await publish('0.3.0');
  await spoil();
  await expect(run({ key })).rejects.toThrow(new RegExp(refusal));
  expect(await called()).toBeNull();
});

test('the key of the installation is required from then on; without any, the output says that nothing was checked', async () => {
  await publish('0.3.0', generateKeyPairSync('ed25519').privateKey);
  expect(await run()).toBe(0);
  expect(noted.join()).toContain('The signature is not checked');
  await writeFile(join(root, 'podyard/podyard.pub'), await readFile(key));
  await expect(run()).rejects.toThrow('not signed by that key');
});

test('a URL is read, and one that does not answer is named', async () => {
  await publish('0.3.0');
  const server: Server = createServer((request, response) => {
    readFile(join(mirror, request.url!)).then(
      (bytes) => response.end(bytes),
      () => response.writeHead(404).end(),
    );
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const from = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    expect(await run({ from, key })).toBe(0);
    expect(await called()).toMatch(/^0\.3\.0 /);
    await expect(run({ from: `${from}/none`, key })).rejects.toThrow(
      '/none/SHA256SUMS cannot be read: it answers with 404',
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
  await expect(run({ from, key })).rejects.toThrow(`${from}/SHA256SUMS cannot be reached: connect ECONNREFUSED`);
});

test('without a place it looks nowhere, and an installation of another kind is told so', async () => {
  const pieces = { terminal: testTerminal(), print: () => {}, note: (text: string) => noted.push(text) };
  expect(await runCli(pieces as unknown as CliPieces, ['upgrade'])).toBe(2);
  expect(noted.at(-1)).toContain('--from or PODYARD_UPGRADE_FROM');
  expect(await runCli(pieces as unknown as CliPieces, ['upgrade', '--from', mirror])).toBe(1);
  expect(noted.at(-1)).toContain('this Podyard was not installed by install.sh');
  await publish('0.3.0');
  await rm(join(tree, 'install.sh')); // as in the Debian package
  await expect(run()).rejects.toThrow('this Podyard was not installed by install.sh');
});

test('the installer has the archive, the checksums and the signature beside it, which it checks again', async () => {
  await publish('9.0.0');
  await run();
  const beside = (await readFile(join(root, 'beside'), 'utf8')).split('\n');
  expect(beside).toEqual(expect.arrayContaining([`${TOP('9.0.0')}.tar.gz`, 'SHA256SUMS', 'SHA256SUMS.sig']));
});
