import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { MAIN } from '../podyard-main.ts';
import { hasTmux } from '../real-terminal.ts';
import { until } from './api.ts';
import { ServerProcess } from './server-process.ts';

let database: TestDatabase;
let server: ServerProcess;
let home: string;
let env: NodeJS.ProcessEnv;
let podId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url });
  home = await mkdtemp(join(tmpdir(), 'podyard-exec-'));
  env = { ...process.env, HOME: home, XDG_CONFIG_HOME: '', PODYARD_URL: server.url, PODYARD_API_KEY: server.key };
  const args = JSON.stringify({ entrypoint: ['sleep', '600'] });
  const made = await run([
    ...['pods', 'create', '--name', 'box', '--image', 'podyard/echo-js:dev', '--args', args, '--cpu', 'cpu3c'],
    ...['--env', 'GREETING=hi', '--wait', '--json'],
  ]);
  expect(made.err).not.toContain('podyard:');
  podId = JSON.parse(made.out.toString()).id;
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  await rm(home, { recursive: true, force: true });
});

const start = (args: readonly string[]): ChildProcess =>
  spawn(process.execPath, [MAIN, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });

/** Runs a command with `input` as its stdin. */
async function run(args: readonly string[], input: Buffer | string = '') {
  const child = start(args);
  child.stdin!.on('error', () => {}); // it may not read all of it
  child.stdin!.end(input);
  const [out, err, [status]] = await Promise.all([buffer(child.stdout!), buffer(child.stderr!), once(child, 'exit')]);
  return { status: status as number, out, err: err.toString() };
}

test('a program in a pod has its streams and its exit status', async () => {
  const done = await run(['exec', 'box', '--', 'sh', '-c', 'cat; echo "$GREETING" >&2; exit 7'], 'žluťoučký 🦄');
  expect(done).toMatchObject({ status: 7, err: 'hi\n' });
  expect(done.out.toString()).toBe('žluťoučký 🦄');
  const large = randomBytes(3 * 2 ** 20);
  const copied = await run(['exec', podId, '--', 'cat'], large);
  expect(copied).toMatchObject({ status: 0, err: '' });
  expect(copied.out.equals(large)).toBe(true);
  expect(await run(['exec', '-n', 'box', '--', 'no-such-program'])).toMatchObject({ status: 127 });
});

test('signals are passed on', async () => {
  const child = start([
    'exec',
    'box',
    '--',
    'sh',
    '-c',
    'trap "echo caught; exit 9" TERM; echo ready; while :; do sleep 0.1; done',
  ]);
  let out = '';
  const caught = new Promise<void>((resolve) => {
    child.stdout!.on('data', (chunk) => {
      out += String(chunk);
      if (out === 'ready\n') child.kill('SIGTERM');
      if (out.includes('caught')) resolve();
    });
  });
  const exit = once(child, 'exit');
  await caught;
  expect((await exit)[0]).toBe(9);
});

test('what cannot be found or run is said in words, with the usual exit statuses', async () => {
  expect(await run(['exec', 'boxx', '--', 'true'])).toMatchObject({
    status: 4,
    err: expect.stringContaining("Did you mean 'box'"),
  });
  expect(await run(['exec'])).toMatchObject({ status: 2 });
  await run(['endpoints', 'create', '--name', 'idle', '--image', 'podyard/echo-js:dev', '--pool', 'ADA_24']);
  expect(await run(['exec', 'idle'])).toMatchObject({ status: 2, err: expect.stringContaining('--endpoint idle') });
  const none = await run(['exec', '--endpoint', 'idle', '--', 'true']);
  expect(none).toMatchObject({ status: 5, err: expect.stringContaining('has no running worker') });
  const body = { name: 'ci', scopes: ['all'] };
  const answer = await fetch(`${server.url}/v2/account/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { secret } = (await answer.json()) as { secret: string };
  const before = env;
  env = { ...env, PODYARD_API_KEY: secret };
  expect(await run(['exec', 'box', '--', 'true'])).toMatchObject({
    status: 3,
    err: expect.stringContaining('scope exec'),
  });
  env = before;
});

test('a program in a worker, by endpoint and by id; the sessions are listed and can be ended', async () => {
  await run(['endpoints', 'update', 'idle', '--workers-min', '1']);
  const inWorker = () => run(['exec', '--endpoint', 'idle', '--', 'sh', '-c', 'echo "$RUNPOD_POD_ID"']);
  const done = await until('the worker runs', async () => {
    const one = await inWorker();
    return one.status === 0 && one;
  });
  const workerId = done.out.toString().trim();
  expect((await run(['exec', workerId, '--', 'echo', 'found'])).out.toString()).toBe('found\n');
  const child = start(['exec', 'box', '--', 'sleep', '600']);
  const exit = once(child, 'exit');
  const sessions = async () => JSON.parse((await run(['exec', '--sessions', '--json'])).out.toString());
  const open = await until('the session is open', async () => {
    const [newest] = await sessions();
    return newest.status === 'OPEN' && newest;
  });
  expect(open).toMatchObject({ podId, program: 'sleep', userName: 'admin' });
  expect((await run(['exec', '--sessions'])).out.toString()).toMatch(/^ID .*\n\w+ +admin .* sleep +127\.0\.0\.1 /);
  await run(['exec', '--end', open.id]);
  expect((await exit)[0]).toBe(255);
});

test('files and folders are copied both ways, with permissions; what exists is not overwritten by a folder', async () => {
  const here = join(home, 'data');
  await mkdir(join(here, 'inner'), { recursive: true });
  const large = randomBytes(2 ** 20);
  await writeFile(join(here, 'inner', 'žluť 🦄.bin'), large, { mode: 0o640 });
  await writeFile(join(here, 'run.sh'), 'echo hi', { mode: 0o755 });
  await writeFile(join(here, 'empty'), '');
  expect(await run(['cp', here, 'box:copied'])).toMatchObject({ status: 0, err: '' });
  const listed = await run(['exec', '-n', 'box', '--', 'sh', '-c', 'sh copied/run.sh; ls -A copied; ls -A']);
  expect(listed.out.toString()).toMatch(/^hi\nempty\ninner\nrun\.sh\n/);
  expect(listed.out.toString()).not.toContain('.podyard-copy');
  const back = join(home, 'back');
  expect(await run(['cp', 'box:copied', back])).toMatchObject({ status: 0, err: '' });
  const path = join(back, 'inner', 'žluť 🦄.bin');
  expect((await readFile(path)).equals(large)).toBe(true);
  expect([(await stat(path)).mode & 0o777, (await stat(join(back, 'run.sh'))).mode & 0o777]).toEqual([0o640, 0o755]);
  expect(await run(['cp', 'box:copied', back])).toMatchObject({ status: 0 }); // into the folder
  expect(await readdir(back)).toContain('copied');
  expect(await run(['cp', 'box:copied', back])).toMatchObject({ status: 2, err: expect.stringContaining('exists') });
  expect(await run(['cp', 'box:nothing', home])).toMatchObject({
    status: 1,
    err: expect.stringContaining('no such file'),
  });
  expect(await run(['cp', join(here, 'run.sh'), 'box:copied'])).toMatchObject({ status: 0 });
  expect(await run(['cp', 'a', 'b'])).toMatchObject({ status: 2 });
  expect((await readdir(home)).filter((name) => name.startsWith('.podyard'))).toEqual([]);
});

test('a copy that fails on this machine, or of what is no file, says so', async () => {
  const odd = join(home, 'odd');
  await mkdir(odd);
  await writeFile(Buffer.concat([Buffer.from(`${odd}/`), Buffer.of(0xff)]), ''); // a name that is not UTF-8
  const unread = await run(['cp', odd, 'box:odd']);
  expect([unread.status, unread.err]).toEqual([1, expect.stringContaining('the copy failed: ENOENT')]);
  const device = await run(['cp', 'box:/dev/zero', join(home, 'zero')]);
  expect([device.status, device.err]).toEqual([2, expect.stringContaining('/dev/zero is neither a file nor a folder')]);
});

test('with a terminal: keys, size, Ctrl-C, and the terminal is restored', { timeout: 30_000 }, async ({ skip }) => {
  skip(!hasTmux, 'needs tmux');
  const socket = `podyard-${newId()}`;
  const tmux = (...args: string[]) =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...args], { env, encoding: 'utf8' });
  tmux('new-session', '-d', '-x', '90', '-y', '30', 'env', '-u', 'CI', 'sh');
  tmux('set', '-g', 'status', 'off');
  try {
    const shows = (text: string) =>
      until(`the screen shows ${text}`, async () => tmux('capture-pane', '-p').includes(text));
    tmux('send-keys', `${process.execPath} ${MAIN} exec box -- sh; echo "status $?"`, 'Enter');
    await until('the shell is there', async () => {
      tmux('send-keys', 'stty size', 'Enter');
      return tmux('capture-pane', '-p').includes('30 90');
    });
    tmux('resize-window', '-x', '100', '-y', '20');
    await until('the size has changed', async () => {
      tmux('send-keys', 'stty size', 'Enter');
      return tmux('capture-pane', '-p').includes('20 100');
    });
    tmux('send-keys', 'clear; echo "begin žlu"; sleep 600; echo "after $((1 + 1))"', 'Enter');
    await shows('begin žlu');
    tmux('send-keys', 'C-c');
    tmux('send-keys', 'exit 6', 'Enter');
    await shows('status 6');
    tmux('send-keys', 'echo still-echoed', 'Enter');
    await shows('still-echoed');
  } finally {
    tmux('kill-server');
  }
});
