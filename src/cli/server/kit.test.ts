import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { copyKit } from './kit.ts';

let into: string;
beforeEach(async () => {
  into = await mkdtemp(join(tmpdir(), 'podyard-kit-'));
});
afterEach(() => rm(into, { recursive: true, force: true }));

const printed: string[] = [];
const output = { print: (text: string) => void printed.push(text), note: () => {} };

test.each([
  ['python', 'podyard_worker.py', 'python/podyard_worker.py'],
  ['javascript', 'podyard-worker.mjs', 'javascript/podyard-worker.js'],
  ['javascript', 'podyard-worker.d.mts', 'javascript/podyard-worker.d.ts'],
] as const)('the kit for %s is copied, and copied again: %s', async (language, name, source) => {
  await copyKit(language, { into, force: false, output });
  await copyKit(language, { into, force: false, output });
  const kit = await readFile(new URL(`../../../workers/${source}`, import.meta.url), 'utf8');
  expect(await readFile(join(into, name), 'utf8')).toBe(kit);
  expect(printed.at(-1)).toContain(name);
});

test('a file that differs is kept unless it may be replaced', async () => {
  const file = join(into, 'podyard_worker.py');
  await writeFile(file, '# mine');
  await expect(copyKit('python', { into, force: false, output })).rejects.toThrow(
    `podyard_worker.py in ${into} differ from the kit's: add --force to replace them`,
  );
  expect(await readFile(file, 'utf8')).toBe('# mine');
  await copyKit('python', { into, force: true, output });
  expect(await readFile(file, 'utf8')).toContain('def start(');
});
