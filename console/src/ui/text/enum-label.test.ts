import { expect, test } from 'vitest';
import { enumLabel } from './enum-label.ts';

test.each([
  ['RUNNING', 'Running'],
  ['TIMED_OUT', 'Timed out'],
  ['endpoint', 'Endpoint'],
  ['', ''],
])('%s reads %s', (value, label) => {
  expect(enumLabel(value)).toBe(label);
});
