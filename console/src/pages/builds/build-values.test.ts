import { expect, test } from 'vitest';
import { ApiError } from '../../api/api-error.ts';
import { toLogLines } from './build-lines.ts';
import { asSentence, type Build, byStatus, failureOf, refusalText, stepNote, versionsText } from './build-values.ts';

const STEP = "Step 'pip install' failed with exit code 1. Its last lines:";

test.each<[string, string[]]>([
  ["KeyError: 'MODEL'", ['Traceback (most recent call last):', '  File "x.py", line 3', "KeyError: 'MODEL'"]],
  [
    'ERROR: No matching distribution found for torhc',
    ['ERROR: No matching distribution found for torhc', '[notice] A new release of pip is available'],
  ],
  [
    "npm error 404  'lefpad@*' is not in this registry.",
    [
      'npm error code E404',
      'npm error 404 Not Found - GET https://registry.npmjs.org/lefpad - Not found',
      'npm error 404',
      "npm error 404  'lefpad@*' is not in this registry.",
      'npm error 404',
      'npm error 404 Note that you can also install from a',
      'npm error 404 tarball, folder, http url, or git folder.',
      'npm error A complete log of this run can be found in: /root/.npm/_logs/1.log',
    ],
  ],
  [
    'npm error notarget No matching version found for is-number@999.0.0.',
    [
      'npm error code ETARGET',
      'npm error notarget No matching version found for is-number@999.0.0.',
      'npm error notarget In most cases you or one of your dependencies are requesting',
      "npm error notarget a package version that doesn't exist.",
    ],
  ],
  [
    'src/a.ts(3,1): error TS2304: Cannot find name',
    ['src/a.ts(3,1): error TS2304: Cannot find name', 'done in 3 s', ''],
  ],
  ['all it said', ['first', 'all it said']],
])('of a failed build, the line that says most comes first: %s', (line, lines) => {
  expect(failureOf([STEP, ...lines].join('\n'))).toEqual({
    line,
    sentence: "Step 'pip install' failed with exit code 1.",
    output: lines.join('\n'),
  });
});

test('colors of a terminal are left out', () => {
  const { line, output } = failureOf(`${STEP}\n\u001b[31merror\u001b[0m: no`);
  expect([line, output]).toEqual(['error: no', 'error: no']);
});

test('a reason without output is the line itself', () => {
  expect(failureOf('Dockerfile, line 3: unknown instruction: RNU.')).toEqual({
    line: 'Dockerfile, line 3: unknown instruction: RNU.',
    sentence: null,
    output: '',
  });
  expect(failureOf('the server ended twice').line).toBe('The server ended twice.');
  expect(asSentence('it was cancelled')).toBe('It was cancelled.');
});

test('builds are counted by status, and one that is chosen stays even when no build has it', () => {
  const builds = ['FAILED', 'COMPLETED', 'FAILED'].map((status) => ({ status }) as Build);
  expect(byStatus(builds, '')).toEqual({
    found: builds,
    counts: [
      { status: 'COMPLETED', count: 1 },
      { status: 'FAILED', count: 2 },
    ],
  });
  const { found, counts } = byStatus(builds, 'QUEUED');
  expect(found).toEqual([]);
  expect(counts[0]).toEqual({ status: 'QUEUED', count: 0 });
});

test('a step that a build left behind was stopped, and does not run on', () => {
  const step = { name: 'x', status: 'RUNNING', startedAt: '', endedAt: null } as const;
  expect(stepNote(step, { status: 'BUILDING' })).toBeNull();
  expect(stepNote(step, { status: 'CANCELLED' })).toBe('Stopped');
  expect(stepNote({ ...step, status: 'FAILED' }, { status: 'FAILED' })).toBe('Failed');
  expect(stepNote({ ...step, status: 'FAILED' }, { status: 'CANCELLED' })).toBe('Stopped');
});

test('a refusal says what to do', () => {
  expect(refusalText(new ApiError(403, 'access denied'))).toContain('builds:write');
  expect(refusalText(new ApiError(409, 'a file was not sent', ['ab']))).toContain('podyard deploy');
  expect(refusalText(new ApiError(409, 'The build is FAILED already.'))).toBe('The build is FAILED already.');
});

test('the releases of an image are listed, and whether one is the latest', () => {
  expect(versionsText([3], 3)).toBe('version 3, the latest');
  expect(versionsText([3], 4)).toBe('version 3');
  expect(versionsText([5, 2], 5)).toBe('versions 5 (the latest) and 2');
  expect(versionsText([9, 8, 7, 6, 5, 4], 10)).toBe('versions 9, 8, 7, 6, 5 and 1 more');
});

test('a line of another step has the step as its heading', () => {
  const line = { number: 7, at: 't', step: 'npm ci', stream: 'stdout', text: 'added 3' } as const;
  const shown = (before: string | null, step: string | null = 'npm ci') =>
    toLogLines({ ...line, step }, before).map(({ id, source, line: text }) => [id, source, text]);
  expect(shown(null)).toEqual([
    ['7 step', 'system', '▸ npm ci'],
    ['7.0', 'container', 'added 3'],
  ]);
  expect(shown('npm ci')).toHaveLength(1);
  expect(shown('npm ci', null)).toHaveLength(1);
  expect(
    toLogLines({ ...line, stream: 'system', text: 'It failed:\nno' }, 'npm ci').map(({ line: text }) => text),
  ).toEqual(['It failed:', 'no']);
});

test('of a long command its beginning is shown, and how the step failed', () => {
  const { sentence } = failureOf(
    `Step 'RUN ${'apt-get install -y one-more '.repeat(40)}' failed with exit code 100. Its last lines:\nE: no`,
  );
  expect(sentence).toMatch(/^Step 'RUN apt-get install .* … .*failed with exit code 100\.$/);
  expect(sentence!.length).toBeLessThan(300);
});
