import { expect, test } from 'vitest';
import { knownRevisionIn, revisionIn, withoutRevision } from './rest-revisions.ts';

test.each([
  ['/v2/pods', null, null, '/v2/pods'],
  ['/2026-08/v2/pods?a=b', '2026-08', '2026-08', '/v2/pods?a=b'],
  ['/2026-07/v2/e1/run', '2026-07', '2026-07', '/v2/e1/run'],
  ['/2026-08', '2026-08', '2026-08', '/'],
  ['/2026-08?x=1', '2026-08', '2026-08', '/?x=1'],
  ['/2026-08/', '2026-08', '2026-08', '/'],
  ['/2025-01/v2/pods', '2025-01', null, '/2025-01/v2/pods'],
  ['/2026-08x/v2/pods', null, null, '/2026-08x/v2/pods'],
  ['/2026-081/v2/pods', null, null, '/2026-081/v2/pods'],
  ['//2026-08/v2', null, null, '//2026-08/v2'],
  ['/v2/2026-08/run', null, null, '/v2/2026-08/run'],
  ['*', null, null, '*'],
  ['', null, null, ''],
])('%s names the revision %s', (url, named, known, rest) => {
  expect([revisionIn(url), knownRevisionIn(url), withoutRevision(url)]).toEqual([named, known, rest]);
});

test('only the first of two prefixes is one', () => {
  expect(withoutRevision('/2026-08/2026-07/v2/pods')).toBe('/2026-07/v2/pods');
});
