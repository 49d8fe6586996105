import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunReport, withSecondTry } from './report-tests.ts';

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const TESTS: Record<string, string> = {
  'sound.test.js': "test('sound', () => {});",
  'fails.test.js': "test('one', () => expect(process.env.TRY).toBe('2')); test('other', () => {});",
  'leaves.test.js': "test('done', async () => { if (process.env.TRY === '1') Promise.reject(new Error('late')); });",
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'podyard-report-'));
  for (const [name, text] of Object.entries(TESTS)) writeFileSync(join(folder, name), text);
  writeFileSync(join(folder, 'vitest.config.js'), 'export default {};');
});
afterAll(() => rmSync(folder, { recursive: true }));

function reportOf(TRY: string, ...files: string[]): RunReport {
  const vitest = pathOf('../node_modules/vitest/vitest.mjs');
  const reporter = `--reporter=${pathOf('report-tests.ts')}`;
  const env = { ...process.env, TRY, PODYARD_TEST_REPORTS: folder, PODYARD_TEST_RUN: TRY };
  spawnSync(process.execPath, [vitest, 'run', '--globals', '--root', folder, reporter, ...files], { cwd: folder, env });
  return JSON.parse(readFileSync(join(folder, `${TRY}.json`), 'utf8')) as RunReport;
}

test('what failed on one of two tries has passed; an error that a test leaves behind counts as a failure of its file', () => {
  const first = reportOf('1');
  expect(first.errors).toBe(0);
  const failed = first.files.filter((file) => file.failed > 0);
  expect(failed.map(({ file, failures }) => [file, failures.map(({ name }) => name)]).toSorted()).toEqual([
    ['fails.test.js', ['one']],
    ['leaves.test.js', ['an unhandled error']],
  ]);
  const both = withSecondTry(first, reportOf('2', 'fails.test.js', 'leaves.test.js'));
  expect(both.files.flatMap((file) => file.failures)).toEqual([]);
  expect(both.files.flatMap(({ retried }) => retried.map(({ error }) => error)).toSorted()).toEqual([
    expect.stringContaining("expected '1' to be '2'"),
    'late',
  ]);
  const again = withSecondTry(first, reportOf('1', 'fails.test.js', 'leaves.test.js'));
  expect(again.files.flatMap((file) => file.failures.map(({ name }) => name)).toSorted()).toEqual([
    'an unhandled error',
    'one',
  ]);
}, 120_000);
