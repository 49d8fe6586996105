import { expect, test } from 'vitest';
import { judgeTables } from './table-growth.ts';

/** The verdict on a table with these rows and sizes at the end of each tenth. */
const verdictOn = (name: string, rows: (tenth: number) => number, mb: (tenth: number) => number = () => 1) =>
  judgeTables(
    Array.from({ length: 10 }, (_, tenth) => ({ [name]: { rows: rows(tenth), mb: mb(tenth), deadRows: 0 } })),
  ).map(({ verdict }) => verdict);

test('a table whose rows stay is flat, also a small one', () => {
  expect(verdictOn('job_stops', () => 5)).toEqual(['flat']);
  expect(verdictOn('jobs', (tenth) => 1_000 + (tenth % 2) * 200)).toEqual(['flat']);
});

test('a table that loses no rows is not flat, however small they are', () => {
  expect(verdictOn('job_stops', (tenth) => 20 * (tenth + 1))).toEqual(['NOT FLAT']);
});

test('a table that grows without more rows is bloated', () => {
  expect(
    verdictOn(
      'jobs',
      () => 100,
      (tenth) => 1 + tenth,
    ),
  ).toEqual(['NOT FLAT']);
});

test('what is kept for ever may grow; what has a limit may grow up to it', () => {
  expect(verdictOn('releases', (tenth) => 1_000 * tenth)).toEqual(['kept']);
  expect(verdictOn('scaling_decisions', (tenth) => Math.min(100, 15 * (tenth + 1)))).toEqual(['flat']);
  expect(verdictOn('scaling_decisions', (tenth) => 30 * (tenth + 1))).toEqual(['NOT FLAT']);
});

test('an empty table is not reported', () => {
  expect(verdictOn('pods', () => 0)).toEqual([]);
});
