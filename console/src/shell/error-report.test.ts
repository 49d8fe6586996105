import { expect, test } from 'vitest';
import { errorReport, isLoadError } from './error-report.ts';

const PLACE = { path: '#/pods', build: 'index-1.js', browser: 'Chromium 1', at: '2026-08-20T12:00:00Z' };

test('a report has the error once, where it happened, and its stack', () => {
  const error = new TypeError('x is undefined');
  error.stack = 'TypeError: x is undefined\n    at Pods (pods.js:1:2)';
  expect(errorReport(error, PLACE)).toBe(
    'TypeError: x is undefined\nPage: #/pods\nConsole: index-1.js\nBrowser: Chromium 1\n' +
      'Time: 2026-08-20T12:00:00Z\nat Pods (pods.js:1:2)',
  );
});

test('a report never has a key', () => {
  expect(errorReport(new Error('bad key pyk_abc123DEF'), PLACE)).not.toContain('abc123');
});

test('what was thrown may be anything', () => {
  for (const thrown of ['text', null, undefined, 7, {}]) expect(errorReport(thrown, PLACE)).toContain('Page: #/pods');
});

test.each([
  'Failed to fetch dynamically imported module: http://host/assets/pods-1.js',
  'error loading dynamically imported module: http://host/assets/pods-1.js',
  'Importing a module script failed.',
  'Unable to preload CSS for /assets/pods.css',
])('“%s” is a part that could not be loaded', (message) => {
  expect(isLoadError(new TypeError(message))).toBe(true);
  expect(isLoadError(new TypeError('x is undefined'))).toBe(false);
});
