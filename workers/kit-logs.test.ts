import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLogRecord, tracebackLines } from '../src/core/text/log-record.ts';

/** Characters that the server keeps of a line. */
const KEPT = 16_384;
const SECRET = 'not-for-the-log';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podyard-kit-logs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const KITS = {
  JavaScript: {
    command: [process.execPath, 'worker.mjs'],
    kit: join(import.meta.dirname, 'javascript/podyard-worker.js'),
    file: 'worker.mjs',
    program: (kit: string, body: string) =>
      `import { start } from '${kit}';\nawait start({ handler: (job) => {\n${body}\n} });\n`,
    prints: `process.stdout.write('printed, '); console.log('in order'); throw new TypeError('no "voice"\\nof that name');`,
    message: 'TypeError: no "voice"\nof that name',
    frame: /^ {4}at .*worker\.mjs:3:/,
    huge: `throw new Error('first ' + 'ü"\\n'.repeat(1_000_000) + ' last');`,
    atLoad: (kit: string) => `import '${kit}';\nthrow new Error('no model');\n`,
    atLoadMessage: 'Error: no model',
  },
  Python: {
    command: ['python3', '-u', 'worker.py'],
    kit: join(import.meta.dirname, 'python'),
    file: 'worker.py',
    program: (kit: string, body: string) =>
      `import sys\nsys.path.insert(0, '${kit}')\nfrom podyard_worker import start\ndef handler(job):\n    ${body}\nstart(handler)\n`,
    prints: `print('printed', end=', '); print('in order'); raise TypeError('no "voice"\\nof that name')`,
    message: 'TypeError: no "voice"\nof that name',
    frame: /^ {2}File ".*worker\.py", line 5, in handler$/,
    huge: `raise ValueError('first ' + 'ü"\\n' * 1_000_000 + ' last')`,
    atLoad: (kit: string) =>
      `import sys\nsys.path.insert(0, '${kit}')\nimport podyard_worker\nraise ValueError('no model')\n`,
    atLoadMessage: 'ValueError: no model',
  },
};
const ON_SERVER = { RUNPOD_ENDPOINT_ID: 'ep1' };
const BY_HAND = ['--test_input', '{"input": {}}'];

interface Ended {
  code: number;
  lines: string[];
  stderr: string;
}

async function run(
  { command, file }: { command: string[]; file: string },
  text: string,
  env = {},
  args: string[] = [],
) {
  await writeFile(join(folder, file), text);
  const [program, ...words] = command;
  const options = {
    cwd: folder,
    env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1', SECRET, ...env },
    timeout: 50_000,
    maxBuffer: 2 ** 26,
  };
  return new Promise<Ended>((resolve) => {
    execFile(program!, [...words, ...args], options, (error, stdout, stderr) => {
      const lines = stdout.split('\n').slice(0, -1);
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), lines, stderr });
    });
  });
}

describe.each(Object.entries(KITS))('the %s kit', (language, kit) => {
  const isMissing =
    language === 'Python' && process.env.CI !== 'true' && spawnSync('python3', ['--version']).status !== 0;

  test.skipIf(isMissing)('logs an exception in one line with its job, and leaves what a handler prints', async () => {
    const { lines } = await run(kit, kit.program(kit.kit, kit.prints), ON_SERVER, BY_HAND);
    expect([lines.length, lines[0]]).toEqual([3, 'printed, in order']);
    expect(Object.keys(JSON.parse(lines[1]!)).sort()).toEqual(['level', 'message', 'requestId', 'traceback']);
    const record = readLogRecord(lines[1]!)!;
    expect(record).toMatchObject({ level: 'ERROR', jobId: 'test', message: kit.message });
    expect(tracebackLines(record).some((line) => kit.frame.test(line))).toBe(true);
    expect(lines.join()).not.toContain(SECRET);
    if (language === 'Python') expect(lines.join()).not.toContain('podyard_worker.py'); // from the handler on
    expect(JSON.parse(lines[2]!)).toHaveProperty('error');
  });

  test.skipIf(isMissing)('a message of megabytes stays within what a server keeps of a line', async () => {
    const { lines } = await run(kit, kit.program(kit.kit, kit.huge), ON_SERVER, BY_HAND);
    expect(lines[0]!.length).toBeLessThan(KEPT);
    expect(lines[0]!.length).toBeGreaterThan(KEPT / 2);
    const { message, traceback } = readLogRecord(lines[0]!)!;
    expect(message).toMatch(/: first ü"/);
    expect(message).toMatch(/ … \d+ characters … /);
    expect(message).toMatch(/ last$/);
    expect(traceback).toMatch(/ … \d+ characters … /);
  });

  test.skipIf(isMissing)('what ends the program before it takes a job is one line, too', async () => {
    const { code, lines, stderr } = await run(kit, kit.atLoad(kit.kit), ON_SERVER);
    expect({ code, stderr, count: lines.length }).toEqual({ code: 1, stderr: '', count: 1 });
    expect(readLogRecord(lines[0]!)).toMatchObject({ level: 'ERROR', jobId: null, message: kit.atLoadMessage });
  });

  test.skipIf(isMissing)('on your own machine, an exception is text', async () => {
    const { lines } = await run(kit, kit.program(kit.kit, kit.prints), {}, BY_HAND);
    expect(lines.slice(1, 3)).toEqual(['ERROR test TypeError: no "voice"', 'of that name']);
    expect(lines.some((line) => kit.frame.test(line))).toBe(true);
    const loaded = await run(kit, kit.atLoad(kit.kit));
    expect([loaded.code, loaded.stderr]).toEqual([1, expect.stringContaining(kit.atLoadMessage)]);
  });
});

const { JavaScript, Python } = KITS;

test('an error that ends a JavaScript worker during a job names the job', async () => {
  const server = createServer((request, answer) => {
    if (request.url!.startsWith('/job-take/') && !isTaken) answer.end('{"id":"job-1","input":{}}');
    isTaken ||= request.url!.startsWith('/job-take/');
  });
  let isTaken = false;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const body = `setImmediate(() => { throw new Error('late'); }); return new Promise(() => {});`;
  const env = { ...ON_SERVER, RUNPOD_WEBHOOK_GET_JOB: `${base}/job-take/$ID?a=1` };
  try {
    const { code, lines } = await run(JavaScript, JavaScript.program(JavaScript.kit, body), env);
    expect(code).toBe(1);
    expect(readLogRecord(lines.at(-1)!)).toMatchObject({ level: 'ERROR', jobId: 'job-1', message: 'Error: late' });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('a JavaScript program with a listener of its own goes on', async () => {
  const text = `import '${JavaScript.kit}';
    process.on('uncaughtException', ({ message }) => { console.log('mine', message); });
    setTimeout(() => console.log('goes on'), 1);
    throw new Error('no model');`;
  expect(await run(JavaScript, text, ON_SERVER)).toEqual({ code: 0, lines: ['mine no model', 'goes on'], stderr: '' });
});

test('a JavaScript file that cannot be parsed is named with its line', async () => {
  await writeFile(join(folder, 'bad.mjs'), 'const a = 1;\nconst b = ;\n');
  const text = `import '${JavaScript.kit}';\nawait import('./bad.mjs');`;
  const { code, stderr } = await run(JavaScript, text, ON_SERVER);
  expect([code, stderr]).toEqual([1, expect.stringMatching(/bad\.mjs:2\nconst b = ;\n[\s\S]*SyntaxError/)]);
});

test('what JSON cannot hold may be thrown, and causes are logged', async () => {
  const thrown = `const a = {}; a.a = a; throw a;`;
  const [first] = (await run(JavaScript, JavaScript.program(JavaScript.kit, thrown), ON_SERVER, BY_HAND)).lines;
  expect(readLogRecord(first!)).toMatchObject({ message: '[object Object]', jobId: 'test', traceback: null });
  const caused = `const e = new Error('outer', { cause: new Error('inner') }); e.cause.cause = e; throw e;`;
  const [line] = (await run(JavaScript, JavaScript.program(JavaScript.kit, caused), ON_SERVER, BY_HAND)).lines;
  expect(readLogRecord(line!)?.traceback).toMatch(/^Error: outer\n[\s\S]*\nCaused by: Error: inner\n/);
});

const hasPython = process.env.CI === 'true' || spawnSync('python3', ['--version']).status === 0;

test.skipIf(!hasPython)('Python: threads and files that cannot be parsed; hooks of others stay', async () => {
  const begin = `import sys, threading\nsys.path.insert(0, '${Python.kit}')\n`;
  const thread = `import podyard_worker\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\nprint('goes on')\n`;
  const inThread = await run(Python, begin + thread, ON_SERVER);
  expect(readLogRecord(inThread.lines[0]!)).toMatchObject({ message: 'ZeroDivisionError: division by zero' });
  expect(inThread).toMatchObject({ code: 0, lines: [expect.anything(), 'goes on'], stderr: '' });
  await writeFile(join(folder, 'bad.py'), 'a = 1\nb = = 2\n');
  const parsed = await run(Python, `${begin}import podyard_worker\nimport bad\n`, ON_SERVER);
  expect(readLogRecord(parsed.lines[0]!)).toMatchObject({
    message: 'SyntaxError: invalid syntax',
    traceback: expect.stringContaining('bad.py", line 2'),
  });
  const own = `sys.excepthook = lambda *_: print('mine')\nimport podyard_worker\n1 / 0\n`;
  expect(await run(Python, begin + own, ON_SERVER)).toEqual({ code: 1, lines: ['mine'], stderr: '' });
});
