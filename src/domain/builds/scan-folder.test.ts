import { once } from 'node:events';
import { linkSync } from 'node:fs';
import { chmod, link, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hashFiles, scanFolder } from './scan-folder.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-scan-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}
async function pathsOf(withInstalled = false): Promise<string[]> {
  return (await scanFolder(root, { withInstalled })).files.map(({ path }) => path);
}

test('files are listed by path, with their modes; links as links', async () => {
  await write({ 'b/run.sh': '#!/bin/sh\n', a: 'a' });
  await chmod(join(root, 'b/run.sh'), 0o755);
  await symlink('b/run.sh', join(root, 'link'));
  await symlink('b', join(root, 'folder'));
  const { files } = await scanFolder(root, { withInstalled: false });
  const entries = await hashFiles(root, files);
  expect(entries).toEqual([
    { path: 'a', digest: 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb', size: 1, mode: 0o644 },
    { path: 'b/run.sh', digest: expect.stringMatching(/^[0-9a-f]{64}$/), size: 10, mode: 0o755 },
    { path: 'folder', link: 'b' },
    { path: 'link', link: 'b/run.sh' },
  ]);
});

test('a hard link is a file of its own, wherever its other names are: nothing tells it from one', async () => {
  await write({ 'outside/a': 'a', 'inside/b': 'b' });
  await link(join(root, 'outside/a'), join(root, 'inside/linked'));
  const { files } = await scanFolder(join(root, 'inside'), { withInstalled: false });
  expect(await hashFiles(join(root, 'inside'), files)).toEqual([
    expect.objectContaining({ path: 'b', size: 1 }),
    {
      path: 'linked',
      digest: 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb',
      size: 1,
      mode: 0o644,
    },
  ]);
});

test('Git’s folder, a server’s data and podyard.yaml are no part of it; what installers write only if it is wanted', async () => {
  await write({
    '.git/config': '',
    'sub/.git/config': '',
    '.podyard/key': '',
    'podyard.yaml': '',
    'node_modules/a/index.js': '',
    'sub/__pycache__/a.pyc': '',
    'a.py': '',
  });
  expect(await pathsOf()).toEqual(['a.py']);
  expect(await pathsOf(true)).toEqual(['a.py', 'node_modules/a/index.js', 'sub/__pycache__/a.pyc']);
});

test('.gitignore files count, each for its folder, and the nearest wins', async () => {
  await write({
    '.gitignore': '*.log\n/out\n',
    'a.log': '',
    'out/x': '',
    'sub/out/x': '',
    'sub/.gitignore': '!keep.log\nown\n',
    'sub/keep.log': '',
    'sub/b.log': '',
    'sub/own/x': '',
    'own/x': '',
  });
  expect(await pathsOf()).toEqual(['.gitignore', 'own/x', 'sub/.gitignore', 'sub/keep.log', 'sub/out/x']);
});

test('.dockerignore counts from the root on, and brings back what .gitignore leaves out', async () => {
  await write({
    '.gitignore': 'dist\n',
    '.dockerignore': '# none\n*.md\n!README.md\n./data\n**/*.tmp\n!dist\n',
    'README.md': '',
    'a.md': '',
    'sub/b.md': '',
    'sub/x.tmp': '',
    'data/x': '',
    'dist/index.js': '',
  });
  expect(await pathsOf()).toEqual(['.dockerignore', '.gitignore', 'README.md', 'dist/index.js', 'sub/b.md']);
});

test('what looks like a secret is left out and named, unless .dockerignore brings it back', async () => {
  const secrets = ['.env', '.env.local', 'a/tls.KEY', 'cert.pem', 'id_ed25519'];
  const others = ['.env.example', 'id_ed25519.pub', 'id_map.py', 'keys.py'];
  await write(Object.fromEntries([...secrets, ...others].map((path) => [path, ''])));
  const scan = await scanFolder(root, { withInstalled: false });
  expect(scan.secrets.toSorted()).toEqual(secrets);
  expect(scan.files.map(({ path }) => path)).toEqual(others);
  await write({ '.dockerignore': '!cert.pem\n' });
  expect(await pathsOf()).toContain('cert.pem');
});

test('a socket is left out and named', async () => {
  const server = createServer().listen(join(root, 'socket'));
  await once(server, 'listening');
  const scan = await scanFolder(root, { withInstalled: false });
  server.close();
  expect([scan.odd, scan.files]).toEqual([['socket'], []]);
});

test('a file, and what is not there, is not a folder', async () => {
  await write({ a: '' });
  for (const path of ['a', 'none']) {
    await expect(scanFolder(join(root, path), { withInstalled: false })).rejects.toThrow(/is not a folder$/);
  }
});

test('a file that goes while it is read is named', async () => {
  await write({ a: '', b: '' });
  const { files } = await scanFolder(root, { withInstalled: false });
  await rm(join(root, 'b'));
  await expect(hashFiles(root, files)).rejects.toThrow('b cannot be read: ENOENT');
});

test('more than 2 GiB are refused with the largest files', async () => {
  await write({ small: '', 'model.bin': '' });
  await truncate(join(root, 'model.bin'), 3 * 2 ** 30);
  await expect(scanFolder(root, { withInstalled: false })).rejects.toThrow(/more than 2 GiB.*model\.bin \(3072 MiB\)/);
});

test('more than 20,000 files are refused with the folder that has most, before all of it is read', async () => {
  await write({ 'app.py': '', 'data/some/first': '' });
  for (let i = 0; i < 25_000; i++) linkSync(join(root, 'data/some/first'), join(root, `data/some/${i}`));
  await expect(scanFolder(root, { withInstalled: false })).rejects.toThrow(
    /^the folder has more than 20000 files: .* data\/some alone has (?:20000|20001) or more$/,
  );
});

test('rules that cannot be read are refused: what they leave out would be sent', async () => {
  await write({ a: '', '.dockerignore/inside': '' });
  await expect(scanFolder(root, { withInstalled: false })).rejects.toThrow('/.dockerignore cannot be read: EISDIR');
});

test('a name that is not UTF-8 is said, since no client can send it', async () => {
  await write({ a: '' });
  await writeFile(Buffer.concat([Buffer.from(`${root}/b`), Buffer.from([0xff])]), '');
  await expect(scanFolder(root, { withInstalled: false })).rejects.toThrow("'b\ufffd' has a name that is not UTF-8");
});
