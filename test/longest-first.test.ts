import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { LONG } from './longest-first.ts';

test('each file that is to start first exists', () => {
  expect(LONG.filter((file) => !existsSync(file))).toEqual([]);
});
