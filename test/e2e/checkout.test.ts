import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { until } from './api.ts';

const ROOT = new URL('../..', import.meta.url).pathname;

let checkout: string;
beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'podyard-checkout-'));
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of String(list).split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(checkout, file)), { recursive: true });
    cpSync(join(ROOT, file), join(checkout, file), { force: true });
  }
  // Installed, with a cache of its own.
  for (const folder of ['node_modules', 'console/node_modules']) {
    mkdirSync(join(checkout, folder));
    for (const name of readdirSync(join(ROOT, folder)).filter((name) => name !== '.cache')) {
      symlinkSync(join(ROOT, folder, name), join(checkout, folder, name));
    }
  }
});
afterAll(() => rm(checkout, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));

interface Started {
  url: string;
  output(): string;
  stop(): Promise<void>;
}

/** Runs `npm start` in the checkout until the test ends. */
async function start(): Promise<Started> {
  let output = '';
  const { NODE_ENV: _, ...env } = process.env; // vitest sets it to `test`, which would build React for development
  const child = spawn('npm', ['start', '--', '--port', '0', '--runtime', 'simulated'], {
    cwd: checkout,
    env: { ...env, PODYARD_ADMIN_KEY: 'pyk_checkout' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // its own process group, to stop it as a whole
  });
  onTestFinished(() => stop(child));
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const url = await until('it is ready', async () => {
    if (child.exitCode !== null) throw new Error(output);
    return /ready at (\S+)/.exec(output)?.[1];
  });
  return { url, output: () => output, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const closed = once(child, 'close');
  process.kill(-child.pid!, 'SIGTERM');
  await closed;
}

/** Has a program say something when it starts, by a change of its file. */
function sayAtStart(file: string, words: string): void {
  const text = readFileSync(join(checkout, file), 'utf8');
  writeFileSync(join(checkout, file), `console.log('${words}');\n${text}`);
}

test('a new checkout serves at once; its console and documentation are built meanwhile, and pages say so', async () => {
  const { url, output } = await start();
  for (const [path, name] of [
    ['/', 'The console'],
    ['/docs/', 'The documentation'],
  ]) {
    const page = await fetch(url + path);
    const text = await page.text();
    expect([page.status, page.headers.get('retry-after'), text]).toEqual([
      503,
      '2',
      expect.stringContaining(`${name} is being built`),
    ]);
    expect(text).toContain('<meta http-equiv="refresh" content="2">');
  }
  await until('both are built', async () => (await fetch(`${url}/`)).ok && (await fetch(`${url}/docs/`)).ok, 60_000);
  expect(await (await fetch(url)).text()).toContain('<div id="root">');
  expect(output()).not.toContain('built');
});

test('a start runs the program that the last one built, and its sources once one of them is newer', async () => {
  const { stop } = await start();
  await until('it is built', async () => existsSync(join(checkout, 'dist/main.js')), 60_000);
  await stop();
  sayAtStart('dist/main.js', 'as it was built');
  const built = await start();
  expect((await fetch(built.url)).status).toBe(200);
  await built.stop();
  expect(built.output()).toContain('as it was built');
  sayAtStart('src/main.ts', 'as it is now');
  const changed = await start();
  const readBuilt = () => readFileSync(join(checkout, 'dist/main.js'), 'utf8');
  await until('it is built again', async () => readBuilt().includes('as it is now'), 60_000);
  await changed.stop();
  expect(changed.output()).not.toContain('as it was built');
  expect(changed.output()).toContain('as it is now');
});

test('a build that fails is said once, in words; the server keeps running, with the console it had', async () => {
  appendFileSync(join(checkout, 'console/src/main.tsx'), "\nimport './nowhere.ts';\n");
  const { url, output } = await start();
  await until('it has failed', async () => output().includes('could not be built'), 60_000);
  expect(
    output().match(
      /^! The pages or the program could not be built: Could not resolve '.\/nowhere.ts' in src\/main.tsx\. /gm,
    ),
  ).toHaveLength(1);
  expect(output()).not.toMatch(/^\s+at /m);
  expect((await fetch(url)).status).toBe(200);
});
