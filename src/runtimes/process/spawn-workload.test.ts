import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { spawnWorkload } from './spawn-workload.ts';

test('once a workload is started, no reader finds the record of its process empty', async () => {
  const records = new Set<string>();
  for (let round = 0; round < 20; round++) {
    const folder = mkdtempSync(join(tmpdir(), 'podyard-spawn-'));
    mkdirSync(join(folder, 'work'));
    const child = await spawnWorkload(folder, ['true'], { PATH: process.env.PATH ?? '' });
    const ended = once(child, 'exit');
    const deadline = performance.now() + 10_000;
    while (!existsSync(join(folder, 'exit')) && performance.now() < deadline) {
      records.add(readFileSync(join(folder, 'process'), 'utf8').replace(/^\d+ \d+\n$/, 'complete'));
    }
    await ended;
    rmSync(folder, { recursive: true });
  }
  expect([...records]).toEqual(['complete']);
});
