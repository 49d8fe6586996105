/**
 * `npm run check`: runs every check that must pass before a commit and prints each with its time, whichever fail.
 * `-- --no-tests` skips the fast tests, for a caller that runs all tests anyway.
 */
import { spawnSync } from 'node:child_process';

const PARTS: [name: string, command: string, ...args: string[]][] = [
  ['format and lint', 'biome', 'check', '--error-on-warnings'],
  ['types', 'tsc', '--project', '.'],
  ['types of the program alone', 'tsc', '--project', 'tsconfig.build.json', '--noEmit'],
  ['the console builds', 'node', 'console/build.ts'],
  ['the documentation builds', 'node', 'scripts/build-docs.ts'],
  ['types of the console', 'tsc', '--project', 'console'],
  ['floors', 'depcruise', 'src'],
  ['dead code', 'knip'],
  ['patterns take linear time', 'node', 'scripts/check-patterns.ts'],
  ['package-lock.json is complete', 'node', 'scripts/complete-lock.ts', '--check'],
  ['api/openapi.json is fresh', 'node', 'scripts/write-openapi.ts', '--check'],
  ['tables of settings and chart values are fresh', 'node', 'scripts/write-tables.ts', '--check'],
  ['fast tests', 'vitest', 'run', '--project', 'fast', '--reporter', 'dot'],
];

const parts = process.argv.includes('--no-tests') ? PARTS.filter(([, command]) => command !== 'vitest') : PARTS;
const failed = parts.filter(([name, command, ...args]) => {
  const startedAt = performance.now();
  const run = spawnSync(command, args, { encoding: 'utf8', env: { ...process.env, FORCE_COLOR: '0' } });
  const isFine = run.status === 0;
  console.log(`${isFine ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
  if (!isFine) console.log(`${run.stdout ?? ''}${run.stderr ?? ''}${run.error?.message ?? ''}`);
  return !isFine;
});
console.log(`\n${spawnSync('node', ['scripts/measure-house.ts'], { encoding: 'utf8' }).stdout}`.trimEnd());
if (failed.length > 0) {
  console.log(`\n${failed.length} of ${parts.length} failed: ${failed.map(([name]) => name).join(', ')}`);
  process.exitCode = 1;
}
