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

/** The disk decides what durable means here: the time of a small synced write is part of the result. */
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

/** Writes all that a benchmark measured, and says where. */
export async function writeResults(name: string, report: { startedAt: string }): Promise<void> {
  await mkdir(RESULTS, { recursive: true });
  const file = join(RESULTS, `${name}-${report.startedAt.replaceAll(':', '-')}.json`);
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`);
  process.stdout.write(`\n${file}\n`);
}
