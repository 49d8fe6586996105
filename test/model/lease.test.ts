import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const MODEL = new URL('lease.pml', import.meta.url).pathname;
const MAX_MEMORY_MB = 2_000;
const MAX_DEPTH = 100_000;
/** A search takes up to 15 s of one core; two busy cores need several times as much. */
const TIMEOUT_MS = 300_000;
const isThorough = process.env.PODYARD_TEST_THOROUGH === 'true';

const missing = await findMissing();

async function findMissing(): Promise<string | undefined> {
  for (const [program, flag] of [
    ['spin', '-V'],
    ['gcc', '--version'],
  ] as const) {
    const isThere = await run(program, [flag]).then(
      () => true,
      () => false,
    );
    if (!isThere) return `${program} is missing`;
  }
  return undefined;
}

/** `safety` searches for failed assertions and deadlocks, `liveness` for runs that never end. */
type Search = 'safety' | 'liveness';

/** Returns what pan, the checker that spin generates, reports of the model with these definitions. */
async function check(search: Search, definitions: readonly string[]): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), 'podyard-model-'));
  onTestFinished(() => rm(cwd, { recursive: true }));
  await copyFile(MODEL, join(cwd, 'lease.pml'));
  await run('spin', [...definitions.map((definition) => `-D${definition}`), '-a', 'lease.pml'], { cwd });
  const mode = search === 'safety' ? '-DSAFETY' : '-DNP';
  const size = isThorough ? ['-DCOLLAPSE'] : []; // half the memory, twice the time
  await run('gcc', ['-O1', '-w', ...size, `-DMEMLIM=${MAX_MEMORY_MB}`, mode, '-o', 'pan', 'pan.c'], { cwd });
  const flags = [`-m${MAX_DEPTH}`, ...(search === 'liveness' ? ['-l'] : [])];
  const { stdout } = await run(join(cwd, 'pan'), flags, { cwd, maxBuffer: 2 ** 24 });
  return stdout;
}

test.runIf(process.env.CI === 'true')('CI has spin and gcc', () => expect(missing).toBeUndefined());

describe.skipIf(missing)(missing ? `the lease protocol (${missing})` : 'the lease protocol', () => {
  const COMPLETE: [string, Search, string[]][] = [
    ['two faults', 'safety', ['FAULTS=2', 'OPERATIONS=0']],
    ['a fault and two operations of clients', 'safety', ['FAULTS=1', 'OPERATIONS=2']],
    ['two jobs and a fault', 'safety', ['FAULTS=1', 'OPERATIONS=0', 'JOBS=2']],
    ['a fault and an operation: every job ends', 'liveness', ['FAULTS=1', 'OPERATIONS=1']],
  ];
  if (isThorough) {
    COMPLETE.push(['two faults: every job ends', 'liveness', ['FAULTS=2', 'OPERATIONS=0']]);
  }

  test.for(COMPLETE)('holds under %s', { timeout: TIMEOUT_MS }, async ([, search, definitions]) => {
    const report = await check(search, definitions);
    expect(report).toContain('errors: 0');
    expect(report, 'the search was not complete').not.toMatch(/search depth too small|out of memory|not completed/i);
  });

  const BROKEN: [string, Search, string[], string][] = [
    ['a result counts no matter who sends it', 'safety', ['NO_FENCING', 'FAULTS=1'], 'lost'],
    ['a former leader may write', 'safety', ['NO_EPOCH', 'FAULTS=1'], 'isAlive'],
    ['leases are judged right after a freeze', 'safety', ['JUDGE_AFTER_FREEZE', 'FAULTS=1'], 'isExcused'],
    ['a rescue requeues jobs without retries left', 'safety', ['RELEASE_ANY', 'FAULTS=2'], 'wasRequeued'],
    ['pings do not reveal undelivered jobs', 'liveness', ['NO_NAMING', 'FAULTS=1'], 'non-progress cycle'],
    ['nobody looks for leases of exited workers', 'liveness', ['NO_ORPHANS', 'FAULTS=2'], 'non-progress cycle'],
  ];

  test.for(BROKEN)('fails when %s', { timeout: TIMEOUT_MS }, async ([, search, definitions, violation]) => {
    const report = await check(search, [...definitions, 'OPERATIONS=0']);
    expect(report).toContain('errors: 1');
    expect(report.split('\n').find((line) => line.startsWith('pan:1'))).toContain(violation);
  });
});
