/**
 * `npm run check`: runs every check that must pass before a commit and prints each with its time, whichever fail. As many run at a
 * time as there are processors, then the fast tests; `-- --no-tests` skips these, for a caller that runs all tests anyway.
 */
import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The longest first. */
const PARTS: [name: string, command: string, ...args: string[]][] = [
  ['patterns take linear time', 'node', 'scripts/check-patterns.ts'],
  ['types', 'tsc', '--project', '.'],
  ['types of the program alone', 'tsc', '--project', 'tsconfig.build.json', '--noEmit'],
  ['format and lint', 'biome', 'check', '--error-on-warnings'],
  ['dead code', 'knip'],
  ['floors', 'depcruise', 'src'],
  ['types of the console', 'tsc', '--project', 'console'],
  ['api/openapi.json is fresh', 'node', 'scripts/write-openapi.ts', '--check'],
  ['the console builds', 'node', 'console/build.ts'],
  ['the documentation builds', 'node', 'scripts/build-docs.ts'],
  ['tables of settings and chart values are fresh', 'node', 'scripts/write-tables.ts', '--check'],
  ['package-lock.json is complete', 'node', 'scripts/complete-lock.ts', '--check'],
];
const TESTS: typeof PARTS = [['fast tests', 'vitest', 'run', '--project', 'fast', '--reporter', 'dot']];
/** A check of types takes a gigabyte. */
const MOST_AT_ONCE = 4;

const failed: string[] = [];
const queue = PARTS.values(); // shared by the lanes
const lanes = Math.min(MOST_AT_ONCE, availableParallelism());
await Promise.all(Array.from({ length: lanes }, () => runAll(queue)));
if (!process.argv.includes('--no-tests')) await runAll(TESTS);
console.log(`\n${(await output('node', ['scripts/measure-house.ts'])).text}`.trimEnd());
if (failed.length > 0) {
  console.log(`\n${failed.length} failed: ${failed.join(', ')}`);
  process.exitCode = 1;
}

async function runAll(parts: Iterable<(typeof PARTS)[number]>): Promise<void> {
  for (const [name, command, ...args] of parts) {
    const startedAt = performance.now();
    const { isFine, text } = await output(command, args);
    console.log(`${isFine ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
    if (isFine) continue;
    console.log(text);
    failed.push(name);
  }
}

function output(command: string, args: string[]): Promise<{ isFine: boolean; text: string }> {
  const options = { env: { ...process.env, FORCE_COLOR: '0' }, maxBuffer: 2 ** 26 };
  return new Promise((resolve) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      const isFine = error === null;
      // A program that printed why it failed says it better.
      resolve({ isFine, text: stdout + stderr || (error?.message ?? '') });
    });
  });
}
