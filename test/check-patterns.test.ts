import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../scripts/check-patterns.ts', import.meta.url));
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podyard-patterns-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a pattern whose time can grow faster than its input is found, and one of linear time is not', async () => {
  const file = join(folder, 'patterns.ts');
  await writeFile(file, 'export const ALL = [/^(a+)+$/, /(.*),(.*),(.*);/, /^(?:[^"]|"[^"]*")*$/];');
  const { status, stdout } = spawnSync('node', [SCRIPT, file], { encoding: 'utf8' });
  expect(stdout.trim().split('\n')).toEqual([
    `${file}: /^(a+)+$/ takes exponential time`,
    `${file}: /(.*),(.*),(.*);/ takes polynomial time`,
  ]);
  expect(status).toBe(1);
});
