import type { ParseArgsOptionsConfig } from 'node:util';
import { expect, test } from 'vitest';
import { readOptions, Usage } from './options.ts';

const OPTIONS = {
  rounds: { type: 'string', default: '3' },
  'cpu-prof': { type: 'string' },
  quick: { type: 'boolean', default: false },
  sql: { type: 'string', multiple: true, default: [] },
} satisfies ParseArgsOptionsConfig;
const LINE = 'options: [--rounds 3] [--cpu-prof CPU-PROF] [--quick] [--sql SQL]…';

test('given options are read beside the defaults', () => {
  const values = readOptions(['--rounds', '5', '--sql', 'select 1'], OPTIONS);
  expect({ ...values }).toEqual({ rounds: '5', quick: false, sql: ['select 1'] });
});

test('--help is answered with the options, and so is what is none of them', () => {
  const read = (...args: string[]) => readOptions(args, OPTIONS);
  expect(() => read('--help')).toThrow(new Usage(LINE, true));
  expect(() => read('--round', '5')).toThrow(/^Unknown option '--round'[^\n]*\noptions: /);
});
