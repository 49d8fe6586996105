import { expect, test } from 'vitest';
import { readAffinity } from './admission.ts';

test.each([
  ['abc', { workerId: 'abc', kind: 'soft' }],
  [' abc ', { workerId: 'abc', kind: 'soft' }],
  ['strict abc', { workerId: 'abc', kind: 'strict' }],
  ['Strict-Resume  abc', { workerId: 'abc', kind: 'strict-resume' }],
  ['strict', { workerId: 'strict', kind: 'soft' }],
  ['a b c', undefined],
  ['', undefined],
  [undefined, undefined],
])('X-Runpod-Worker-Id %j means %j', (header, affinity) => {
  expect(readAffinity(header)).toEqual(affinity);
});
