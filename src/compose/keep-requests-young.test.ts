import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { CREATE_YOUNG } from './keep-requests-young.ts';

test('this Node.js knows the option that keeps requests young', () => {
  const { status, stderr } = spawnSync(process.execPath, [CREATE_YOUNG, '--eval', '']);
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' });
});
