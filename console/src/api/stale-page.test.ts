import { expect, test } from 'vitest';
import { buildOf, decideStale, type StalePage } from './stale-page.ts';

const STALE: StalePage = {
  own: 'index-old.js',
  served: 'index-new.js',
  reloadedFor: null,
  hasUnsavedChanges: false,
};

test('the build of a page is its script, whatever the path', () => {
  const page = (src: string) => `<head><script type="module" crossorigin src="${src}"></script></head>`;
  expect(buildOf(page('./assets/index-UY6hh3Iw.js'))).toBe('index-UY6hh3Iw.js');
  expect(buildOf(page('/some/path/assets/index-UY6hh3Iw.js'))).toBe('index-UY6hh3Iw.js');
  expect(buildOf('<h1>Bad Gateway</h1>')).toBe(null);
});

test.each([
  ['a page of the served build stays', { served: 'index-old.js' }, 'nothing'],
  ['nothing is known of the served build', { served: null }, 'nothing'],
  ['a stale page reloads', {}, 'reload'],
  ['it reloads for the next build too', { reloadedFor: 'index-older.js' }, 'reload'],
  ['it never reloads twice for one build', { reloadedFor: 'index-new.js' }, 'offer'],
  ['unsaved changes are not lost', { hasUnsavedChanges: true }, 'offer'],
])('%s', (_what, change: Partial<StalePage>, action) => {
  expect(decideStale({ ...STALE, ...change })).toBe(action);
});
