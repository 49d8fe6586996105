import { expect, test } from 'vitest';
import { pageOf } from './use-heading-focus.ts';

test('the tabs of a record are one page, a list and a form are others', () => {
  expect(['/endpoints/a', '/endpoints/a/logs', '/endpoints', '/endpoints/new', '/'].map(pageOf)).toEqual([
    '/endpoints/a',
    '/endpoints/a',
    '/endpoints',
    '/endpoints/new',
    '/',
  ]);
});
