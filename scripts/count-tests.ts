/**
 * Prints the totals of vitest's JSON report as one line. Ends with 1 if a test failed, none passed, or there is no report.
 * A file that could not even be loaded counts as one failed test.
 */
import { readFile } from 'node:fs/promises';

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

const report = await readFile(process.argv[2]!, 'utf8')
  .then((text) => JSON.parse(text) as Report)
  .catch(() => undefined);

const unloaded = (report?.testResults ?? []).filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
);
const passed = report?.numPassedTests ?? 0;
const failed = (report?.numFailedTests ?? 1) + unloaded.length;
const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);

console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
if (failed > 0 || passed === 0) process.exitCode = 1;
