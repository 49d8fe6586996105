/** How comments begin (CONTRIBUTING.md). */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const FOLDERS = ['src', 'console/src', 'workers', 'bench', 'scripts', 'test'];
/** A comment, or its first line after an opening of its own. `What` and `Of` without the noun read as translated. */
const POOR_OPENER = /\/\*\*(?:\n *\*)? (?:What|Of) /;

test('a comment begins with the thing it names, or with what a function does', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', ...FOLDERS], { encoding: 'utf8' }).split(
    '\n',
  );
  const found = files.filter((file) => /\.[jt]sx?$/.test(file) && POOR_OPENER.test(readFileSync(file, 'utf8')));
  expect(found).toEqual([]);
});
