import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { fairMs } from './fair-ms.ts';

test('no more than the time on the clock, and the error of the work', async () => {
  const startedAt = performance.now();
  expect(await fairMs(() => sleep(100))).toBeLessThanOrEqual(performance.now() - startedAt);
  await expect(fairMs(() => Promise.reject(new Error('spilt')))).rejects.toThrow('spilt');
});

test('less where other programs keep all processors busy', async () => {
  const busy = Array.from({ length: 2 * availableParallelism() }, () => spawn('sh', ['-c', 'while :; do :; done']));
  onTestFinished(() => {
    for (const program of busy) program.kill('SIGKILL');
  });
  await Promise.all(busy.map((program) => once(program, 'spawn')));
  const startedAt = performance.now();
  const fair = await fairMs(() => sleep(1_000));
  expect(fair).toBeLessThan(0.75 * (performance.now() - startedAt));
});
