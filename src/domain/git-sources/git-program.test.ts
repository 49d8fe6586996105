import { expect, test } from 'vitest';
import { findGitFault } from './git-program.ts';

test.each([
  ['git version 2.37.0\n', null],
  ['git version 2.39.5 (Apple Git-154)\n', null],
  ['git version 2.50.1.windows.1', null],
  ['git version 3.0.0', null],
  ['git version 2.34.1\n', 'has version 2.34.1, and Podyard needs 2.37 or newer'],
  ['git version 1.99', 'has version 1.99, and Podyard needs 2.37 or newer'],
  ['BusyBox', 'does not say its version, and Podyard needs 2.37 or newer'],
])('%j', (printed, fault) => {
  expect(findGitFault(printed)).toBe(fault);
});
