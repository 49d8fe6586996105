import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { protectFromOom } from './process/survive-shortage.ts';

const MODULE = new URL('./process/survive-shortage.ts', import.meta.url).href;

test.runIf(process.platform === 'linux')(
  'the server and what it starts are spared where that is permitted',
  async () => {
    const code = `
    const { protectFromOom } = await import('${MODULE}');
    const isDone = await protectFromOom();
    const { execFileSync } = await import('node:child_process');
    console.log(isDone, Number(execFileSync('cat', ['/proc/self/oom_score_adj'])));`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
    // Without CAP_SYS_RESOURCE the kernel refuses, and the score stays what it was.
    expect(stdout.trim()).toMatch(/^true -500$|^false \d+$/);
    if (hasResourceCapability()) expect(stdout.trim()).toBe('true -500');
  },
);

/** CAP_SYS_RESOURCE is bit 24 (capabilities(7)); root in a container often lacks it. */
function hasResourceCapability(): boolean {
  const [, effective] = /^CapEff:\s+(\w+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))!;
  return ((BigInt(`0x${effective}`) >> 24n) & 1n) === 1n;
}

test('a system without such scores is no error', async () => {
  expect(await protectFromOom(join(tmpdir(), 'no-such-folder', 'oom_score_adj'))).toBe(false);
});
