import { expect, test } from 'vitest';
import { diffValue, rolloutText } from './release-text.ts';

const ROLLOUT = { inProgress: true, paused: false, workersTotal: 4, workersOnLatest: 1, percentOnLatest: 25 };

test('a rollout shows how many workers are on the latest version', () => {
  expect(rolloutText(ROLLOUT, 3)).toBe('1 of 4 workers on version 3.');
});

test('a paused rollout says so', () => {
  expect(rolloutText({ ...ROLLOUT, paused: true }, 3)).toBe('1 of 4 workers on version 3. The rollout is paused.');
});

test('without workers there is nothing to roll out', () => {
  expect(rolloutText({ ...ROLLOUT, workersTotal: 0, workersOnLatest: 0 }, 3)).toBe(
    'No workers running. The next one starts on the latest version.',
  );
});

test('a diff shows text as is, other values as JSON, and a missing value as none', () => {
  expect(['acme/w:1', 2, ['A'], null, undefined, ''].map(diffValue)).toEqual([
    'acme/w:1',
    '2',
    '["A"]',
    'none',
    'none',
    '',
  ]);
});
