import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Reporter, SerializedError, TestModule, TestSuite } from 'vitest/node';

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
  /** The failed tests, and the suites with failures outside their tests. */
  failures: TestFailure[];
  /** The failures on one of two tries whose test passed on the other. */
  retried: TestFailure[];
  /** The names of the tests that passed, and of the suites without failures outside their tests. */
  passes: string[];
}

export interface TestFailure {
  /** With the names of its suites. */
  name: string;
  /** The first line of its error. */
  error: string;
}

export interface RunReport {
  files: FileReport[];
  /** Errors outside any file. */
  errors: number;
}

/** Stands for what a file leaves unhandled, such as a rejection after its tests, among the names of its tests. */
const UNHANDLED = 'an unhandled error';

/** Vitest reporter. Writes the outcome of a run as JSON into the folder PODYARD_TEST_REPORTS. */
export default class TestReporter implements Reporter {
  async onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): Promise<void> {
    const folder = process.env.PODYARD_TEST_REPORTS;
    if (!folder) return;
    await mkdir(folder, { recursive: true });
    const byFile = Map.groupBy(errors, ({ VITEST_TEST_PATH: path }) => path as string | undefined);
    const files = modules.map((module) => withUnhandled(fileReport(module), byFile.get(module.moduleId)));
    const known = new Set(modules.map(({ moduleId }) => moduleId));
    const elsewhere = errors.filter(({ VITEST_TEST_PATH: path }) => !known.has(path as string));
    const report: RunReport = { files, errors: elsewhere.length };
    await writeFile(join(folder, `${process.env.PODYARD_TEST_RUN ?? 'tests'}.json`), JSON.stringify(report));
  }
}

function fileReport(module: TestModule): FileReport {
  const tests = [...module.children.allTests()];
  const count = (state: string) => tests.filter((test) => test.result().state === state).length;
  const failed = count('failed') + count('pending'); // pending: the process ended before the test
  const isBroken = failed === 0 && !module.ok();
  const suites = [module, ...module.children.allSuites()];
  return {
    project: module.project.name,
    file: relative(process.cwd(), module.moduleId),
    seconds: module.diagnostic().duration / 1000,
    passed: count('passed'),
    failed: failed + (isBroken ? 1 : 0),
    skipped: count('skipped'),
    failures: [
      ...tests
        .filter((test) => ['failed', 'pending'].includes(test.result().state))
        .map((test) => failure(test.fullName, test.result().errors)),
      ...suites.filter((suite) => suite.errors().length > 0).map((suite) => failure(suiteName(suite), suite.errors())),
    ],
    retried: [],
    passes: [
      ...tests.filter((test) => test.result().state === 'passed').map((test) => test.fullName),
      ...suites.filter((suite) => suite.errors().length === 0).map(suiteName),
    ],
  };
}

function withUnhandled(report: FileReport, errors: readonly SerializedError[] = []): FileReport {
  if (errors.length === 0) return { ...report, passes: [...report.passes, UNHANDLED] };
  const failures = [...report.failures, failure(UNHANDLED, errors)];
  return { ...report, failed: report.failed + 1, failures };
}

function suiteName(suite: TestModule | TestSuite): string {
  return suite.type === 'suite' ? suite.fullName : 'the file';
}

function failure(name: string, errors: readonly { message?: string }[] = []): TestFailure {
  return { name, error: errors[0]?.message?.split('\n', 1)[0] || 'it never ended' };
}

/** The outcome after a second try of files that failed: a test has failed if it passed on neither. */
export function withSecondTry(first: RunReport, second: RunReport): RunReport {
  const key = ({ project, file }: FileReport) => `${project} ${file}`;
  const again = new Map(second.files.map((report) => [key(report), report]));
  return {
    files: first.files.map((report) => {
      const other = again.get(key(report));
      if (!other) return report;
      const hasFailed = ({ name }: TestFailure) =>
        !other.passes.includes(name) || other.failures.some((one) => one.name === name);
      const failures = report.failures.filter(hasFailed);
      const names = new Set(failures.map(({ name }) => name));
      return {
        ...report,
        seconds: report.seconds + other.seconds,
        passed: report.passed + Math.max(0, report.failed - failures.length),
        failed: failures.length,
        failures,
        retried: [...report.failures, ...other.failures].filter(({ name }) => !names.has(name)),
      };
    }),
    errors: first.errors + second.errors,
  };
}
