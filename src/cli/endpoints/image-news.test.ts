import { expect, test } from 'vitest';
import { newsOf } from './image-news.ts';

const DIGESTS = [`sha256:${'a'.repeat(64)}`, `sha256:${'b'.repeat(64)}`] as const;
const one = {
  releaseId: 'r',
  version: 1,
  image: 'ml:2',
  digest: DIGESTS[0],
  resolvedAt: null,
  isResolving: false,
  problem: null,
};
const known = { isAll: true, isKnown: true };

test('a name that stands for something else is a release', () => {
  const text = newsOf('ml', one, { ...one, version: 2, digest: DIGESTS[1] }, known);
  expect(text).toBe('Release 2: ml:2 names sha256:bbbbbbbbbbbb, before sha256:aaaaaaaaaaaa.');
});

test('one that stands for the same changes nothing', () => {
  expect(newsOf('ml', one, one, known)).toBe('Nothing changed: ml:2 names sha256:aaaaaaaaaaaa as before.');
  expect(newsOf('ml', one, one, { ...known, isAll: false })).toContain('The image is the same: ');
  expect(newsOf('ml', one, { ...one, version: 2 }, known)).toContain('The image is the same: ');
  expect(newsOf('ml', { ...one, digest: null }, { ...one, digest: null }, known)).toBe('Nothing changed.');
});

test('a problem, and a registry that takes its time, are said', () => {
  const problem = 'It does not exist.';
  expect(newsOf('ml', one, { ...one, problem }, known)).toBe(`ml:2 could not be resolved anew: ${problem}`);
  const text = newsOf('ml', one, { ...one, isResolving: true }, { ...known, isKnown: false });
  expect(text).toContain('`podyard releases ml`');
});
