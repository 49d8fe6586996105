import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { appendFile, cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { signChecksums, writeChecksums } from '../../release/finish/checksums.ts';
import { releaseNotes } from '../../release/finish/release-notes.ts';
import { ROOT } from '../../release/release-facts.ts';
import { freePort } from '../free-port.ts';
import { buildParts, builtArtifacts, builtRelease, OTHER_PARTS } from './built.ts';

const run = promisify(execFile);

const CLI_MAX_BYTES = 5e6;

let version: string;
let archive: string;
let built: string;
let folder: string;

beforeAll(async () => {
  ({ version, archive } = await builtRelease());
  built = await builtArtifacts();
  folder = await mkdtemp(join(tmpdir(), 'podyard-release-test-'));
}, 600_000);
afterAll(async () => {
  if (folder) await rm(folder, { recursive: true, force: true });
});

test('a second release of one commit, built anew under other settings, is equal byte for byte', async () => {
  const env = { TZ: 'Asia/Tokyo', LC_ALL: 'C' };
  await buildParts(['archive', ...OTHER_PARTS], `${folder}/again`, { isFresh: true, env, umask: '077' });
  const sums = (await readFile(`${folder}/again/SHA256SUMS`, 'utf8')).trim().split('\n');
  const { stdout: ofArchive } = await run('sha256sum', [archive]);
  const others = (await readFile(`${built}/SHA256SUMS`, 'utf8')).trim().split('\n');
  const first = [...others, `${ofArchive.slice(0, 64)}  ${archive.split('/').pop()}`];
  expect(sums.sort()).toEqual(first.sort());
  expect(sums.length).toBe(9);
}, 300_000);

test('the npm package has the console and the documentation, and no tests or sources', async () => {
  const { stdout } = await run('tar', ['-tzf', `${built}/podyard-${version}.tgz`]);
  const files = stdout.trim().split('\n');
  for (const file of [
    'dist/main.js',
    'dist/LICENSES',
    'dist/console/index.html',
    'dist/docs/index.html',
    'api/openapi.json',
    'LICENSE',
  ]) {
    expect(files).toContain(`package/${file}`);
  }
  expect(files.filter((file) => /\.test\.|package\/(src|test|console|release)\/|__pycache__/.test(file))).toEqual([]);
});

test('the command line alone is small, starts without a server, and says what it cannot do', async () => {
  const file = `${built}/podyard-cli-${version}.tar.gz`;
  expect((await stat(file)).size).toBeLessThanOrEqual(CLI_MAX_BYTES);
  await run('tar', ['-xzf', file, '-C', folder]);
  const cli = (...args: string[]) => run(`${folder}/podyard-cli-${version}/bin/podyard`, args);
  expect((await cli('--version')).stdout.trim()).toBe(version);
  await expect(cli('serve')).rejects.toThrow('which has no server: install Podyard');
  const port = await freePort();
  const env = { ...process.env, PODYARD_URL: `http://127.0.0.1:${port}`, PODYARD_API_KEY: 'pyk_none' };
  const listed = run(`${folder}/podyard-cli-${version}/bin/podyard`, ['endpoints'], { env });
  await expect(listed).rejects.toThrow(`127.0.0.1:${port}`); // it asked, and nobody answered
  await writeFile(join(folder, 'podyard.yaml'), 'workerz: 3\n');
  const deployed = run(`${folder}/podyard-cli-${version}/bin/podyard`, ['deploy', folder, '--dry-run'], { env });
  await expect(deployed).rejects.toThrow('workerz');
});

test('the chart is packed with the version, and with the schema of its values', async () => {
  const chart = `${built}/podyard-chart-${version}.tgz`;
  const { stdout: about } = await run('tar', ['-xzOf', chart, 'podyard/Chart.yaml']);
  expect(about).toMatch(new RegExp(`^version: "?${version.replaceAll('.', '\\.')}"?$`, 'm'));
  const { stdout: schema } = await run('tar', ['-xzOf', chart, 'podyard/values.schema.json']);
  expect(JSON.parse(schema)).toHaveProperty('properties.image');
});

test('the bill of materials names every production package of the lock file, Node.js, PostgreSQL and glibc', async () => {
  const text = await readFile(`${built}/podyard-${version}.spdx.json`, 'utf8');
  const { packages } = JSON.parse(text) as { packages: { name: string; versionInfo: string; SPDXID: string }[] };
  const named = new Set(packages.map((one) => `${one.name}@${one.versionInfo}`));
  const lock = JSON.parse(await readFile(`${ROOT}/package-lock.json`, 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean; link?: boolean; os?: string[]; cpu?: string[] }>;
  };
  const shipped = Object.entries(lock.packages).filter(([path, { dev, link, os, cpu }]) => {
    const isOfPlatform = (os ?? ['linux']).includes('linux') && (cpu ?? [process.arch]).includes(process.arch);
    const isOther = /node_modules\/node-linux-\w+$/.test(path);
    return path.includes('node_modules/') && !dev && !link && isOfPlatform && !isOther;
  });
  const names = shipped.map(([path, { version: of }]) => `${path.split('node_modules/').pop()}@${of}`);
  expect(names.filter((name) => !named.has(name))).toEqual([]);
  expect(packages.map((one) => one.name)).toEqual(
    expect.arrayContaining(['nodejs', 'postgresql', 'libc6', 'react', 'pg']),
  );
  const ids = packages.map((one) => one.SPDXID);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.filter((id) => !/^SPDXRef-[A-Za-z0-9.-]+$/.test(id))).toEqual([]);
});

describe('signed checksums', () => {
  let signed: string;
  const verify = (key: string) =>
    run(
      'openssl',
      ['pkeyutl', '-verify', '-pubin', '-inkey', key, '-rawin', '-in', 'SHA256SUMS', '-sigfile', 'SHA256SUMS.sig'],
      {
        cwd: signed,
      },
    );

  beforeAll(async () => {
    signed = `${folder}/signed`;
    await cp(`${built}/release-notes.md`, `${signed}/release-notes.md`);
    const { privateKey } = generateKeyPairSync('ed25519');
    await writeFile(`${folder}/key.pem`, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await writeChecksums(signed);
    await signChecksums(signed, `${folder}/key.pem`);
  });

  test('openssl verifies them with the public key', async () => {
    expect((await verify('podyard.pub')).stdout).toContain('Signature Verified Successfully');
    expect(await readdir(signed)).not.toContain('key.pem');
    await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: signed });
  });

  test('neither another key nor a changed file passes', async () => {
    const { publicKey } = generateKeyPairSync('ed25519');
    await writeFile(`${folder}/other.pub`, publicKey.export({ type: 'spki', format: 'pem' }));
    await expect(verify(`${folder}/other.pub`)).rejects.toThrow();
    await appendFile(`${signed}/release-notes.md`, 'more');
    await expect(run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: signed })).rejects.toThrow('did NOT match');
    await writeChecksums(signed);
    await expect(verify('podyard.pub')).rejects.toThrow();
  });

  test('a key of another kind is refused with the command that makes one', async () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    await writeFile(`${folder}/wrong.pem`, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    await expect(signChecksums(signed, `${folder}/wrong.pem`)).rejects.toThrow('openssl genpkey -algorithm ed25519');
  });
});

describe('release notes', () => {
  test('are the section of the version alone', async () => {
    const notes = await readFile(`${built}/release-notes.md`, 'utf8');
    expect(notes).toMatch(new RegExp(`^## ${version.replaceAll('.', '\\.')}\n`));
    expect(notes.match(/^## /gm)).toHaveLength(1);
  });

  test('are refused if the changelog has none', () => {
    expect(() => releaseNotes('# Changelog\n\n## 0.3.0\n\n- More.\n', '0.2.0')).toThrow("no section '## 0.2.0'");
    expect(() => releaseNotes('# Changelog\n\n## 0.2.0\n\n## 0.1.0\n\n- First.\n', '0.2.0')).toThrow('says nothing');
  });
});
