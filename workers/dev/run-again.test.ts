import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { fairMs } from '../../test/fair-ms.ts';
import { findProcesses } from '../../test/find-processes.ts';

/** Long enough for a machine that has much other work. */
const WITHIN_MS = 30_000;
const RUN_AGAIN = new URL('./run-again.js', import.meta.url).pathname;

let folder: string;
let child: ChildProcess | undefined;
let printed = '';
let command: string[];
/** Beside that of the test. */
let env: Record<string, string> = {};
beforeEach(async () => {
  command = [process.execPath, 'main.mjs'];
  folder = await mkdtemp(join(tmpdir(), 'podyard-dev-'));
  printed = '';
});
afterEach(async () => {
  if (child && child.exitCode === null && child.signalCode === null) {
    process.kill(-child.pid!, 'SIGKILL'); // with what it runs, as the end of a container does
    await once(child, 'exit');
  }
  await rm(folder, { recursive: true });
});

/** Runs `command`, which prints; resolves once it has printed `text`. */
async function run(text: string, ...options: string[]): Promise<void> {
  child = spawn(process.execPath, [RUN_AGAIN, folder, ...options, '--', ...command], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk) => (printed += chunk));
  await says(text);
}
const says = (text: string) => vi.waitFor(() => expect(printed).toContain(text), { timeout: WITHIN_MS, interval: 10 });
const write = (name: string, text: string) => writeFile(join(folder, name), text);
const count = (text: string) => printed.split(text).length - 1;

const RUN_HANDLER = new URL('../python/run_handler.py', import.meta.url).pathname;

/** Prints `name`, and ends `delayMs` after SIGTERM. */
const program = (name: string, delayMs = 0) => `
  const stay = setInterval(() => {}, 1000);
  process.on('SIGTERM', () => setTimeout(() => { console.log('${name} ended'); clearInterval(stay); }, ${delayMs}));
  console.log('${name} runs');
`;

test('a saved file runs the new code, also one that an editor has replaced, or in a new folder', async () => {
  await write('main.mjs', program('one'));
  await run('one runs');
  await write('main.mjs', program('two'));
  await says('two runs');
  expect(printed).toContain('… main.mjs has changed: running the new code');
  await write('main.mjs.tmp', program('three'));
  await rename(join(folder, 'main.mjs.tmp'), join(folder, 'main.mjs'));
  await says('three runs');
  await write('main.mjs', program('four')); // into what the editor has put there
  await says('four runs');
  await mkdir(join(folder, 'lib/deep'), { recursive: true });
  await write('lib/deep/part.mjs', '1');
  await says('lib/deep/part.mjs has changed');
  await rm(join(folder, 'lib'), { recursive: true });
  await mkdir(join(folder, 'lib'));
  await write('lib/again.mjs', '1');
  await says('lib/again.mjs has changed');
});

test('the new code takes over while the old one still finishes its job', async () => {
  await write('main.mjs', program('slow', 1_000));
  await run('slow runs');
  await write('main.mjs', program('next'));
  await says('next runs');
  expect(printed).not.toContain('slow ended');
  await says('slow ended');
});

test('with --in-turn the port is free first', async () => {
  await write('main.mjs', program('slow', 300));
  await run('slow runs', '--in-turn');
  await write('main.mjs', program('next'));
  await says('next runs');
  expect(printed.indexOf('slow ended')).toBeLessThan(printed.indexOf('next runs'));
  expect(printed).toContain('slow ended');
});

test.each<[string, string[], (name: string) => string]>([
  [
    'handler.py',
    ['python3', '-u', RUN_HANDLER, 'handler.py', 'handler'],
    (name) => `import sys\nprint('${name} reads', repr(sys.stdin.read()), flush=True)\ndef handler(job):\n    pass\n`,
  ],
  [
    'handler.js',
    [
      process.execPath,
      RUN_HANDLER.replace('python/run_handler.py', 'javascript/run-handler.js'),
      'handler.js',
      'default',
    ],
    (name) =>
      `const { readFileSync } = require('node:fs');\nconsole.log(\`${name} reads '\${readFileSync(0)}'\`);\nmodule.exports = () => {};\n`,
  ],
])(
  'with --spare the next program waits for the save: %s has the code and the standard input of one without',
  async (file, handler, code) => {
    await write(file, code('one'));
    command = handler;
    await run("one reads ''", '--spare');
    for (const name of ['two', 'three']) {
      await write(file, code(name));
      await says(`${name} reads ''`);
    }
    expect(count('reads')).toBe(3);
    await write(file, 'def handler(:\n');
    await says('it runs again when you save a file');
    await write(file, code('mended'));
    await says("mended reads ''");
  },
);

test('a spare that has ended is replaced by the next save, and none outlives a kill', async () => {
  await write('handler.py', 'print("runs one", flush=True)\ndef handler(job): pass\n');
  command = ['python3', '-u', RUN_HANDLER, join(folder, 'handler.py'), 'handler'];
  await run('runs one', '--spare');
  const spares = () => findProcesses(folder).filter((pid) => pid !== child!.pid);
  const [spare, ...others] = await vi.waitUntil(() => spares().length === 1 && spares(), { timeout: WITHIN_MS });
  expect(others).toEqual([]); // the program itself has ended: there is no server
  process.kill(spare!, 'SIGKILL');
  await vi.waitUntil(() => !spares().includes(spare!), { timeout: WITHIN_MS });
  await write('handler.py', 'print("runs two", flush=True)\ndef handler(job): pass\n');
  await says('runs two');
  child!.kill('SIGKILL');
  await vi.waitUntil(() => spares().length === 0, { timeout: WITHIN_MS });
});

test.each([[[]], [['--in-turn']]])(
  'the last of many saves runs at once, whenever they come: %j',
  async (options: string[]) => {
    await write('main.mjs', program('save 0,', 40));
    await run('save 0, runs', ...options);
    for (let save = 1; save <= 60; save++) {
      await write('main.mjs', program(`save ${save},`, 40));
      if (save % 10 === 0) {
        expect(await fairMs(() => says(`save ${save}, runs`))).toBeLessThan(2_000);
      } else await new Promise((resolve) => setTimeout(resolve, (save * 17) % 90)); // before, in and after the restart that the one before has begun
    }
    expect(printed.lastIndexOf(' runs')).toBe(printed.indexOf('save 60, runs') + 'save 60,'.length);
  },
);

test('files that change without a pause do not put the new code off', async () => {
  await write('main.mjs', program('one'));
  await run('one runs');
  await write('main.mjs', program('two'));
  const timer = setInterval(() => write('state.json', String(performance.now())), 5);
  await says('two runs').finally(() => clearInterval(timer));
});

test('what is no code, or was written by others, restarts nothing', async () => {
  await write('main.mjs', program('one'));
  await run('one runs');
  for (const name of ['node_modules', '.git', '__pycache__', '.venv']) {
    await mkdir(join(folder, name));
    await write(`${name}/a.py`, '1');
  }
  await write('result.png', 'pixels');
  await write('main.mjs', program('two'));
  await says('two runs');
  expect(count('has changed')).toBe(1);
});

test('a program that fails says how, and runs again after the next change', async () => {
  await write('main.mjs', 'process.exit(3)');
  await run('(exit code 3): it runs again when you save a file');
  await write('main.mjs', program('mended'));
  await says('mended runs');
  expect(count('it runs again')).toBe(1);
});

describe('a program that ends by itself while it has a job', () => {
  let pings: URLSearchParams[];
  let jobs: string[];
  let server: Server;
  beforeEach(async () => {
    [pings, jobs] = [[], []];
    server = createServer(({ url, headers }, res) => {
      expect(headers.authorization).toBe('token');
      pings.push(new URL(url!, 'http://server').searchParams);
      res.end(JSON.stringify({ jobs }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    env = { RUNPOD_WEBHOOK_PING: `http://127.0.0.1:${port}/ping?gpu=cpu`, RUNPOD_AI_API_KEY: 'token' };
  });
  afterEach(() => {
    env = {};
    server.close();
  });

  test.each([
    ['process.exit(3)', 'exit code 3'],
    ["process.kill(process.pid, 'SIGSEGV')", 'SIGSEGV'],
  ])('after %s tells how and what it printed last, and runs again', async (end, how) => {
    jobs = ['one'];
    await write(
      'main.mjs',
      `process.stderr.write('x'.repeat(9000) + '\\n' + 'the last words'); setTimeout(() => ${end}, 50);`,
    );
    await run(`(${how}), and with it its job: it runs again`);
    expect(printed).toMatch(/the last words\n! The program ended after 0\.\d s/);
    await vi.waitUntil(() => pings.length > 1, { timeout: WITHIN_MS });
    const [ping] = pings;
    expect(Object.fromEntries(ping!)).toMatchObject({
      status: 'ended',
      reason: expect.stringMatching(`^The program ended after 0\\.\\d s \\(${how}\\)$`),
      output: expect.stringMatching(/\nthe last words$/),
      since: expect.stringMatching(/^\d{2,3}$/),
    });
    expect(ping!.has('until')).toBe(false);
  });

  test('Node.js without memory says so in its last words, and its own stack is left out', async () => {
    jobs = ['one'];
    command = [process.execPath, '--max-old-space-size=20', 'main.mjs'];
    await write('main.mjs', "for (const all = []; ; ) all.push(new Array(1e5).fill('x'));");
    await run('(SIGABRT), and with it its job: it runs again');
    expect(pings[0]!.get('output')).toMatch(/JavaScript heap out of memory\s*$/);
  });

  test('also when the new code runs already: only its own jobs are named, and nothing is started for them', async () => {
    jobs = ['one', 'two'];
    await write(
      'main.mjs',
      "process.on('SIGTERM', () => setTimeout(() => process.exit(7), 300)); console.log('old runs'); setInterval(() => {}, 1000);",
    );
    await run('old runs');
    await write('main.mjs', program('new'));
    await says('(exit code 7), and with it its 2 jobs\n');
    expect(Number(pings[0]!.get('until'))).toBeGreaterThan(200);
    expect(Number(pings[0]!.get('since'))).toBeGreaterThan(Number(pings[0]!.get('until')));
    expect(count('new runs')).toBe(1);
  });

  test('one without a job waits for the next save', async () => {
    await write('main.mjs', 'process.exit(3)');
    await run('(exit code 3): it runs again when you save a file');
    expect(pings).toHaveLength(1);
  });
});

test('SIGTERM ends it once all programs have ended', async () => {
  await write('main.mjs', program('slow', 300));
  await run('slow runs');
  await write('main.mjs', program('next', 300));
  await says('next runs');
  child!.kill('SIGTERM');
  const [code] = await once(child!, 'exit');
  expect(code).toBe(0);
  expect(printed).toContain('slow ended');
  expect(printed).toContain('next ended');
});

test('SIGTERM also ends a program that never returns', async () => {
  await write('main.mjs', "process.on('SIGTERM', () => {}); console.log('runs'); for (;;);");
  await run('runs');
  child!.kill('SIGTERM');
  const [code] = await once(child!, 'exit');
  expect(code).toBe(0);
});

test('it ends with the process that it belongs to', async () => {
  await write('main.mjs', program('one'));
  const owner = spawn('sleep', ['60']);
  await run('one runs', '--of', String(owner.pid));
  owner.kill('SIGKILL');
  const [code] = await once(child!, 'exit');
  expect(code).toBe(0);
  expect(printed).toContain('one ended');
});
