import { createHash } from 'node:crypto';
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { median } from './median.ts';

export interface Machine {
  cpus: string;
  node: string;
  fsyncMs: number;
}

const RESULTS = '.cache/bench';
const HASHED = Buffer.alloc(4 * 2 ** 20, 1);

/** How fast the machine is at this moment, in ms for hashing 4 MB: a shared one changes within minutes. */
export function hashMs(): number {
  const times = Array.from({ length: 5 }, () => {
    const startedAt = performance.now();
    createHash('sha256').update(HASHED).digest();
    return performance.now() - startedAt;
  });
  return median(times);
}

/** Describes the machine. `fsyncMs` is part of every result: durability costs what the disk takes for a small synced write. */
export function describeMachine(dir: string): Machine {
  const file = openSync(join(dir, 'fsync'), 'w');
  const page = Buffer.alloc(8192, 1);
  const times = Array.from({ length: 100 }, () => {
    writeSync(file, page);
    const startedAt = performance.now();
    fdatasyncSync(file);
    return performance.now() - startedAt;
  });
  closeSync(file);
  return {
    cpus: `${availableParallelism()} x ${cpus()[0]?.model}`,
    node: process.versions.node,
    fsyncMs: median(times),
  };
}

/** Writes everything a benchmark measured, and prints the file name. */
export async function writeResults(name: string, report: { startedAt: string }): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  const file = join(RESULTS, `${name}-${report.startedAt.replaceAll(':', '-')}.json`);
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(`\n${file}\n`);
}
