import { expect, test } from 'vitest';
import { enumLabel, labelOf } from './labels.ts';

test.each([
  ['RUNNING', 'Running'],
  ['TIMED_OUT', 'Timed out'],
  ['endpoint', 'Endpoint'],
  ['', ''],
])('%s reads %s', (value, label) => {
  expect(enumLabel(value)).toBe(label);
});

test('a status that only a newer server has reads like its value', () => {
  const table = { IDLE: { label: 'At rest', color: 'cyan' } };
  expect(['IDLE', 'SLEEPING_DEEP'].map((status) => labelOf(table, status))).toEqual(['At rest', 'Sleeping deep']);
});
