import { execFile, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startCommand } from '../src/domain/builds/dockerfile-of.ts';
import { kitFiles } from '../src/domain/builds/kit-files.ts';
import type { Recipe } from '../src/domain/builds/recipe.ts';

/** Folders as builds materialize them: the user's files, and the kit's. */
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podyard-runner-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const INPUT = ['--test_input', '{"input": {"words": ["a", "b"]}}'];

async function serve(
  language: 'python' | 'javascript',
  files: Record<string, string>,
  [file, name]: readonly [file: string, name: string],
  more = INPUT,
): Promise<{ code: number; lines: unknown[]; stderr: string }> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  for (const { path, source } of kitFiles({ language })) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await copyFile(source, join(folder, path));
  }
  const recipe = { language, entry: { kind: 'handler', file, name } } as Recipe;
  const [program, ...words] = startCommand(recipe, 'python3');
  const options = { cwd: folder, env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: '1' }, timeout: 50_000 };
  return new Promise((resolve) => {
    execFile(program!, [...words, ...more], options, (error, stdout, stderr) => {
      const lines = stdout.trim().split('\n').filter(Boolean);
      resolve({
        code: error === null ? 0 : Number(error.code ?? -1),
        lines: lines.map((line) => JSON.parse(line)),
        stderr,
      });
    });
  });
}

describe('JavaScript', () => {
  test.each([
    ['a default export', 'handler.js', 'export default async (job) => job.input.words.length;', 'default'],
    ['a named export', 'src/a.mjs', 'export function handler(job) { return job.input.words.length; }', 'handler'],
    ['CommonJS', 'a.cjs', 'module.exports = async (job) => job.input.words.length;', 'default'],
    ['a name of CommonJS', 'a.cjs', 'exports.handler = async (job) => job.input.words.length;', 'handler'],
    [
      'TypeScript',
      'handler.ts',
      'enum A { B }\nexport default (job: { input: { words: string[] } }): number => job.input.words.length + A.B;',
      'default',
    ],
  ])('serves %s, without a warning', async (_, file, text, name) => {
    expect(await serve('javascript', { [file]: text }, [file, name])).toEqual({
      code: 0,
      lines: [{ output: 2 }],
      stderr: '',
    });
  });

  test('streams what a generator yields, and finds files beside it', async () => {
    const files = {
      'src/handler.js':
        "import { up } from './up.js';\nexport default async function* (job) { for (const word of job.input.words) yield up(word); }",
      'src/up.js': 'export const up = (word) => word.toUpperCase();',
    };
    const { lines } = await serve('javascript', files, ['src/handler.js', 'default']);
    expect(lines).toEqual([{ stream: 'A' }, { stream: 'B' }]);
  });

  test.each([
    [
      'nothing',
      'export const a = 1;',
      'handler.js exports nothing as default: write `export default async (job) => …`\n',
    ],
    [
      'no function',
      'export default 1;',
      'handler.js exports a value of type number, which is no function, as default: write `export default async (job) => …`\n',
    ],
  ])('that exports %s is refused', async (_, text, why) => {
    const { code, stderr } = await serve('javascript', { 'handler.js': text }, ['handler.js', 'default']);
    expect([code, stderr]).toEqual([1, why]);
  });

  test('a file that is gone, and one that throws, end the worker with the reason', async () => {
    expect(await serve('javascript', {}, ['handler.js', 'default'])).toMatchObject({
      code: 1,
      stderr: 'handler.js is not there: it should have the handler\n',
    });
    const { code, stderr } = await serve('javascript', { 'handler.js': "throw new Error('no model');" }, [
      'handler.js',
      'default',
    ]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('no model')]);
  });
});

const hasPython = process.env.CI === 'true' || spawnSync('python3', ['--version']).status === 0;
describe.skipIf(!hasPython)('Python', () => {
  test.each([
    ['a function', 'handler.py', 'def handler(job):\n    return len(job["input"]["words"])\n'],
    ['a coroutine', 'src/work.py', 'async def handler(job):\n    return len(job["input"]["words"])\n'],
  ])('serves %s', async (_, file, text) => {
    expect(await serve('python', { [file]: text }, [file, 'handler'])).toMatchObject({
      code: 0,
      lines: [{ output: 2 }],
    });
  });

  test('streams what a generator yields, and finds modules beside it and at the top', async () => {
    const files = {
      'src/work.py':
        'from up import up\nfrom shared.names import NAME\n\ndef run(job):\n    for word in job["input"]["words"]:\n        yield up(word) + NAME\n',
      'src/up.py': 'def up(word):\n    return word.upper()\n',
      'shared/names.py': 'NAME = "!"\n',
    };
    const { lines } = await serve('python', files, ['src/work.py', 'run']);
    expect(lines).toEqual([{ stream: 'A!' }, { stream: 'B!' }]);
  });

  test.each([
    ['no handler', 'x = 1\n', /handler\.py has no function named handler: define it as `def handler\(job\): \.\.\.`/],
    ['no function', 'handler = 1\n', /has a int instead of a function named handler/],
    ['an error', 'import no_such_module\n', /ModuleNotFoundError: No module named 'no_such_module'/],
  ])('with %s ends with the reason', async (_, text, why) => {
    const { code, stderr } = await serve('python', { 'handler.py': text }, ['handler.py', 'handler']);
    expect([code, stderr]).toEqual([1, expect.stringMatching(why)]);
  });

  test('a file that is gone is named', async () => {
    expect(await serve('python', {}, ['handler.py', 'handler'])).toMatchObject({
      code: 1,
      stderr: 'handler.py is not there: it should have the handler\n',
    });
  });
});
