/** `podyard dev` as a developer uses it: in a folder with a handler, which changes. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { findProcesses } from '../find-processes.ts';
import { freePort } from '../free-port.ts';
import { MAIN } from '../podyard-main.ts';
import { Api, until } from './api.ts';

let home: string;
let folder: string;
let dev: ChildProcess;
let printed = '';
let api: Api;
let id: string;

async function start(): Promise<void> {
  printed = '';
  const env = { PATH: process.env.PATH, HOME: home, PODYARD_DATABASE_URL: 'postgres://none.invalid/other' };
  dev = spawn(process.execPath, [MAIN, 'dev', folder, '--port', String(await freePort())], { env });
  for (const stream of [dev.stdout!, dev.stderr!]) stream.on('data', (chunk) => (printed += chunk));
  await until('it says how to call it', async () => printed.includes('Ctrl-C ends it'), 150_000);
  const [, url, key] = /PODYARD_URL=(\S+) PODYARD_API_KEY=(\S+)/.exec(printed)!;
  api = new Api({ url: url!, key: key! });
  id = /Console: http:\S+\d\/#\/endpoints\/(\w+)/.exec(printed)![1]!;
}
const save = (name: string, text: string) => writeFile(join(folder, name), text);
const run = (input: unknown) => api.call<{ status: string; output: unknown }>('POST', `/v2/${id}/runsync`, { input });
const answers = (output: unknown) =>
  until(`the answer is ${output}`, async () => (await run({ name: 'Ada' })).output === output, 60_000);

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'podyard-dev-home-'));
  folder = join(await mkdtemp(join(home, 'apps-')), '_app-'); // no image may be called so
  await mkdir(folder);
  await save('.env', 'GREETING=hello\n');
  await save('handler.js', "export default async ({ input }) => process.env.GREETING + ' ' + input.name;\n");
  await start();
});
afterAll(async () => {
  if (dev?.exitCode === null && dev.signalCode === null) {
    dev.kill('SIGKILL');
    await once(dev, 'exit');
  }
  const servers = (await until('its data is there', async () => readdir(join(home, '.cache/podyard/dev')))) as string[];
  for (const name of servers) {
    const file = join(home, '.cache/podyard/dev', name, 'postgres/postmaster.pid');
    const pid = Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
    if (pid > 0) process.kill(pid, 'SIGQUIT');
  }
  await until('nothing of it runs', async () => findProcesses(folder).length === 0);
  await rm(home, { recursive: true, force: true, maxRetries: 5 });
});

test('a job runs with the variables of .env; after a save, the next runs on the new code', async () => {
  await answers('hello Ada');
  await save('handler.js', "import { shout } from './words.js';\nexport default ({ input }) => shout(input.name);\n");
  await save('words.js', "export const shout = (text) => text.toUpperCase() + '!';\n");
  await answers('ADA!');
  await save('words.js', "export const shout = (text) => text.toUpperCase() + '!!';\n");
  await answers('ADA!!');
});

test('a second one in the same folder is refused with what to do', async () => {
  const env = { PATH: process.env.PATH, HOME: home };
  const second = spawn(process.execPath, [MAIN, 'dev', folder, '--port', '0'], { env });
  expect(await text(second.stderr)).toBe(
    `podyard: this folder is served already, by the process ${dev.pid}: stop that first\n`,
  );
});

test('the page whose address it prints runs a job and shows the log', async () => {
  const page = new URL(/Page to send jobs from: (\S+)/.exec(printed)![1]!);
  const headers = { authorization: `Bearer ${page.hash.slice(1)}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ input: { name: 'Page' } });
  const started = await fetch(new URL('/job/run', page), { method: 'POST', headers, body });
  const { id: job } = (await started.json()) as { id: string };
  const stream = await fetch(new URL(`/job/stream/${job}`, page), {
    headers: { ...headers, accept: 'text/event-stream' },
  });
  expect(await stream.text()).toMatch(/event: done\ndata: .*"output":"PAGE!!"/);
  const log = await fetch(new URL('/log', page), { headers });
  const reader = log.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('running the new code')) text += (await reader.read()).value;
  await reader.cancel();
});

test('code that does not start is shown with its error, and the job waits for the mended one', async () => {
  await save('words.js', 'export const shout = ;\n');
  await until(
    'its error is shown',
    async () => printed.includes('SyntaxError') && printed.includes('when you save a file'),
  );
  const waiting = run({ name: 'Eve' });
  await save('words.js', "export const shout = (text) => 'mended ' + text;\n");
  expect(await waiting).toMatchObject({ status: 'COMPLETED', output: 'mended Eve' });
});

test.each([
  ['process.exit(3)', 'exit code 3'],
  ["process.kill(process.pid, 'SIGKILL')", 'SIGKILL'],
])(
  'a handler that ends its process by %s fails its job at once, with the last lines, and is started again',
  async (end, how) => {
    await save(
      'words.js',
      `export const shout = (name) => { if (name === 'crash') { process.stdout.write('about to crash'); ${end}; } return '${how} ' + name; };\n`,
    );
    await answers(`${how} Ada`);
    const startedAt = performance.now();
    const { status, error } = (await run({ name: 'crash' })) as { status: string; error?: string };
    expect(status).toBe('FAILED');
    expect(error).toMatch(new RegExp(`^The program ended after [\\d.]+ s \\(${how}\\):\\n(?:.*\\n)*about to crash$`));
    expect(await run({ name: 'Eve' })).toMatchObject({ status: 'COMPLETED', output: `${how} Eve` });
    expect(performance.now() - startedAt).toBeLessThan(35_000); // a lease is 40 s
    await until('it says so', async () => printed.includes(`(${how}), and with it its job: it runs again`));
  },
);

test('a result that is larger than may be fails its job with the limit', async () => {
  await save('words.js', "export const shout = (name) => (name === 'huge' ? 'x'.repeat(30e6) : 'small');\n");
  await answers('small');
  expect(await run({ name: 'huge' })).toMatchObject({
    status: 'FAILED',
    error: expect.stringMatching(/^the result of 300\d+ bytes is larger than the limit of \d+ bytes$/),
  });
  expect(await run({ name: 'next' })).toMatchObject({ output: 'small' });
});

test('a handler that never returns is left to its job by the next save, and Ctrl-C ends it', async () => {
  await save('words.js', "export const shout = (name) => { while (name === 'endless'); return 'endless ' + name; };\n");
  await answers('endless Ada');
  const { id: job } = await api.call<{ id: string }>('POST', `/v2/${id}/run`, { input: { name: 'endless' } });
  await until('it runs', async () => (await api.status(id, job)).status === 'IN_PROGRESS');
  await save('words.js', "export const shout = (text) => { while (text === 'endless'); return 'mended ' + text; };\n");
  await answers('mended Ada');
  expect((await api.status(id, job)).status).toBe('IN_PROGRESS');
});

test('Ctrl-C ends everything; the next start has the same key, and a worker', async () => {
  const key = /PODYARD_API_KEY=(\S+)/.exec(printed)![1];
  dev.kill('SIGINT');
  expect(await once(dev, 'exit')).toEqual([0, null]);
  await until('no worker runs', async () => findProcesses(folder).length === 0);
  await start();
  expect(printed).toContain(`PODYARD_API_KEY=${key}`);
  await answers('mended Ada');
});

test('when it is killed, its worker ends too', async () => {
  dev.kill('SIGKILL');
  await once(dev, 'exit');
  await until('no worker runs', async () => findProcesses(folder).length === 0);
});

test('a folder without a handler says what to do, and starts nothing', async () => {
  const empty = await mkdtemp(join(home, 'empty-'));
  const child = spawn(process.execPath, [MAIN, 'dev', empty], { env: { PATH: process.env.PATH, HOME: home } });
  let said = '';
  child.stderr.on('data', (chunk) => (said += chunk));
  expect(await once(child, 'exit')).toEqual([2, null]);
  expect(said).toContain('The folder is empty: `podyard init` writes one that works');
});

test('a Python handler that ends its process fails its job at once, and is started again', async () => {
  folder = await mkdtemp(join(home, 'python-'));
  await save(
    'handler.py',
    'import os\n\ndef handler(job):\n    if job["input"]["name"] == "crash":\n        print("about to crash", end="")\n        os._exit(4)\n    return "alive"\n',
  );
  await start();
  await answers('alive');
  expect(await run({ name: 'crash' })).toMatchObject({
    status: 'FAILED',
    error: expect.stringMatching(/^The program ended after [\d.]+ s \(exit code 4\):\n(?:.*\n)*about to crash$/),
  });
  expect(await run({ name: 'next' })).toMatchObject({ status: 'COMPLETED', output: 'alive' });
  dev.kill('SIGINT');
  expect(await once(dev, 'exit')).toEqual([0, null]);
});
