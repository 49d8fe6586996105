import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

/** The outcome of one test file, for `scripts/count-tests.ts`. */
export interface FileReport {
  project: string;
  file: string;
  /** The time of its tests and hooks, without loading it. */
  seconds: number;
  passed: number;
  /** A file that failed to load, or failed outside its tests, counts as one failed test. */
  failed: number;
  skipped: number;
  /** Tests that passed only on the second try, each with the first line of its first error. */
  retried: string[];
}

export interface RunReport {
  files: FileReport[];
  /** Errors outside any file, such as an unhandled rejection. */
  errors: number;
}

/** Vitest reporter. Writes the outcome of a run as JSON into the folder PODYARD_TEST_REPORTS. */
export default class TestReporter implements Reporter {
  async onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): Promise<void> {
    const folder = process.env.PODYARD_TEST_REPORTS;
    if (!folder) return;
    await mkdir(folder, { recursive: true });
    const report: RunReport = { files: modules.map(fileReport), errors: errors.length };
    await writeFile(join(folder, `${process.env.PODYARD_TEST_RUN ?? 'tests'}.json`), JSON.stringify(report));
  }
}

function fileReport(module: TestModule): FileReport {
  const tests = [...module.children.allTests()];
  const count = (state: string) => tests.filter((test) => test.result().state === state).length;
  const failed = count('failed') + count('pending'); // pending: the process ended before the test
  const isBroken = failed === 0 && !module.ok();
  return {
    project: module.project.name,
    file: relative(process.cwd(), module.moduleId),
    seconds: module.diagnostic().duration / 1000,
    passed: count('passed'),
    failed: failed + (isBroken ? 1 : 0),
    skipped: count('skipped'),
    retried: tests.flatMap((test) => {
      if (test.result().state !== 'passed' || (test.diagnostic()?.retryCount ?? 0) === 0) return [];
      const [error] = test.attempts().flatMap((attempt) => attempt.errors ?? []);
      return `${test.fullName}: ${error?.message.split('\n', 1)[0] ?? 'no error was kept'}`;
    }),
  };
}
