import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { buildProgram } from './build-program.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

test('no file of the program imports a module of Node.js, which would evaluate all that it exports', async () => {
  const out = await mkdtemp(join(tmpdir(), 'podyard-bundle-'));
  onTestFinished(() => rm(out, { recursive: true, force: true }));
  await buildProgram(ROOT, out);
  const files = (await readdir(out)).filter((name) => name.endsWith('.js'));
  expect(files).toContain('main.js');
  const codes = await Promise.all(files.map((name) => readFile(join(out, name), 'utf8')));
  expect(codes.flatMap((code) => code.match(/^(?:import|export)\b.*["']node:.*/gm) ?? [])).toEqual([]);
});
