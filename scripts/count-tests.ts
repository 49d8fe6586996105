/**
 * Ends `.ci/run`: `node scripts/count-tests.ts FOLDER` prints what failed, on one try or on both, how long everything took, and
 * on its last line the totals of all suites. Exits with 1 if anything failed or no test passed.
 *
 * FOLDER holds `steps`, with one line per step (name, seconds and exit status, separated by tabs), and the reports that
 * report-tests.ts wrote during each step. A step that failed without a failed test counts as one failed test.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FileReport, RunReport } from './report-tests.ts';

const SLOWEST = 25;

const folder = process.argv[2]!;
const reports = new Map<string, RunReport>();
for (const name of readdirSync(folder).filter((file) => file.endsWith('.json'))) {
  reports.set(name.slice(0, -'.json'.length), JSON.parse(readFileSync(join(folder, name), 'utf8')));
}
const files = [...reports.values()].flatMap((report) => report.files);
const sum = (of: readonly FileReport[], key: 'passed' | 'failed' | 'skipped' | 'seconds') =>
  of.reduce((total, file) => total + file[key], 0);

const steps = readSteps();
const brokenSteps = steps.filter(
  ({ name, status }) => status !== 0 && sum(reports.get(name)?.files ?? [], 'failed') === 0,
);
const passed = sum(files, 'passed');
const failed = sum(files, 'failed') + brokenSteps.length;
const skipped = sum(files, 'skipped');

for (const { file, retried } of files) {
  for (const { name, error } of retried) console.log(`passed on one of two tries: ${file}: ${name}: ${error}`);
}
for (const { file, failures } of files) {
  for (const { name, error } of failures) console.log(`failed: ${file}: ${name}: ${error}`);
}
for (const { name } of brokenSteps) console.log(`failed outside the tests: ${name}`);

printTable(
  ['step', 'seconds', ''],
  steps.map(({ name, seconds, status }) => [name, seconds, status === 0 ? '' : 'FAILED']),
);
printTable(
  ['suite', 'files', 'passed', 'failed', 'skipped', 'seconds of its files'],
  [...Map.groupBy(files, ({ project }) => project)].map(([project, of]) => [
    ...[project, of.length, sum(of, 'passed'), sum(of, 'failed'), sum(of, 'skipped')],
    Math.round(sum(of, 'seconds')),
  ]),
);
printTable(
  ['the slowest files', 'seconds'],
  files
    .toSorted((a, b) => b.seconds - a.seconds)
    .slice(0, SLOWEST)
    .map(({ file, seconds }) => [file, Math.round(seconds)]),
);
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
if (failed > 0 || passed === 0) process.exitCode = 1;

function readSteps(): { name: string; seconds: number; status: number }[] {
  const path = join(folder, 'steps');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
  return lines.map((line) => {
    const [name, seconds, status] = line.split('\t');
    return { name: name!, seconds: Number(seconds), status: Number(status) };
  });
}

/** Aligns the first column to the left, the others to the right. */
function printTable(head: readonly string[], rows: readonly (string | number)[][]): void {
  const lines = [head, ...rows].map((row) => row.map(String));
  const widths = head.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  for (const line of lines) {
    const cells = line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)));
    console.log(cells.join('  ').trimEnd());
  }
  console.log('');
}
