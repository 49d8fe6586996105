import { execFile, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { copyKit } from '../src/cli/server/kit.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const JAVASCRIPT = `
import { start } from 'podyard/worker';
await start({
  async *handler(job) {
    await job.progress('began');
    for (const word of job.input.words) yield word.toUpperCase();
  },
});
`;
const PYTHON = `
from podyard_worker import start

async def handler(job):
    job.progress("began")
    for word in job["input"]["words"]:
        yield word.upper()

start(handler)
`;
const TYPED = `
import { type Job, start } from 'podyard/worker';

interface Input { words: string[] }

await start<Input, number>({ handler: async (job) => job.input.words.length, concurrency: 2 });
await start({
  async *handler({ input, signal, progress }: Job<Input>) {
    await progress({ done: 0 });
    if (!signal.aborted) yield* input.words;
  },
});
// @ts-expect-error the handler is required
await start({ concurrency: 1 });
// @ts-expect-error concurrency is a number
await start({ handler: () => 1, concurrency: 'many' });
// @ts-expect-error the input has no such property
await start<Input, number>({ handler: (job) => job.input.letters.length });
`;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podyard-consumer-'));
  await mkdir(join(folder, 'node_modules'));
  await symlink(ROOT, join(folder, 'node_modules/podyard'));
  await symlink(join(ROOT, 'workers/python/podyard_worker.py'), join(folder, 'podyard_worker.py'));
  await writeFile(join(folder, 'worker.mjs'), JAVASCRIPT);
  await writeFile(join(folder, 'worker.py'), PYTHON);
  await writeFile(join(folder, 'typed.mts'), TYPED);
  await copyKit('javascript', { into: folder, force: false, output: { print: () => {}, note: () => {} } });
  await writeFile(join(folder, 'typed-copy.mts'), TYPED.replace('podyard/worker', './podyard-worker.mjs'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function run(program: string, ...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const options = { cwd: folder, env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' }, timeout: 50_000 };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
  });
}

describe.each([
  ['JavaScript', process.execPath, 'worker.mjs'],
  ['Python', 'python3', 'worker.py'],
])('a %s worker that uses the kit', (language, program, file) => {
  const isMissing =
    language === 'Python' && process.env.CI !== 'true' && spawnSync(program, ['--version']).status !== 0;

  test.skipIf(isMissing)('runs one job by hand and prints its progress and stream', async () => {
    const { code, stdout } = await run(program, file, '--test_input', '{"input": {"words": ["a", "b"]}}');
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual([{ progress: 'began' }, { stream: 'A' }, { stream: 'B' }]);
    expect(code).toBe(0);
  });

  test.skipIf(isMissing)('exits with 1 when that job fails, and says what to do when there is none', async () => {
    const failed = await run(program, file, '--test_input', '{"input": {}}');
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout.trim().split('\n').at(-1)!)).toHaveProperty('error');
    const none = await run(program, file);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('--test_input')]);
  });
});

test('a consumer’s TypeScript compiles against the kit’s types, and mistakes are errors', async () => {
  const compiler = fileURLToPath(import.meta.resolve('typescript/package.json')).replace(/package\.json$/, 'bin/tsc');
  const flags = ['--noEmit', '--strict', '--target', 'es2024', '--module', 'nodenext', '--types', ''];
  const { code, stdout } = await run(process.execPath, compiler, ...flags, 'typed.mts', 'typed-copy.mts');
  expect([code, stdout]).toEqual([0, '']);
});

test('the package contains the kits, their types and examples, but no tests', async () => {
  const { stdout } = await run('npm', 'pack', ROOT, '--dry-run', '--json', '--ignore-scripts');
  const [packed] = Object.values(JSON.parse(stdout)) as { files: { path: string }[] }[];
  const names = packed!.files.map(({ path }) => path).filter((path) => path.startsWith('workers/'));
  expect(names).toEqual(
    expect.arrayContaining([
      'workers/javascript/podyard-worker.js',
      'workers/javascript/podyard-worker.d.ts',
      'workers/python/podyard_worker.py',
      'workers/images.json',
    ]),
  );
  expect(names.filter((path) => /test|__pycache__/.test(path))).toEqual([]);
});
