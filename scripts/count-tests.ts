/**
 * Prints the totals of vitest's JSON report as one line. Ends with 1 if a test failed, none passed, or there is no report.
 * A file that could not even be loaded counts as one failed test. A test that passed only when it was tried again is named:
 * on a busy machine that is no failure, but somebody should make it wait for the right thing.
 */
import { readFile } from 'node:fs/promises';

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: {
    name: string;
    status: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
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

for (const file of report?.testResults ?? []) {
  for (const test of file.assertionResults) {
    if (test.status !== 'passed' || test.failureMessages.length === 0) continue;
    console.log(
      `passed at the second try: ${test.fullName} (${file.name}): ${test.failureMessages[0]!.split('\n', 1)}`,
    );
  }
}
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
if (failed > 0 || passed === 0) process.exitCode = 1;
