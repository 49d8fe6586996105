import { expect, test } from 'vitest';
import { findLiteralObject } from './python-literal.ts';

test.each([
  ["{'message': 'no', 'param': None, 'code': 404}", { message: 'no', param: null, code: 404 }],
  ["{'m': \"it's\", 'ok': True, 'bad': False}", { m: "it's", ok: true, bad: false }],
  ["handler: {'a': [1, -2.5, 1e3], 'b': (1,), 'c': {}} \ntraceback: x", { a: [1, -2.5, 1000], b: [1], c: {} }],
  ["{'t': 'a\\nb\\x41\\u00e9\\'\\\\'}", { t: "a\nbAé'\\" }],
  ['HTTP 404: {"detail":"Not \\/ Found \\ud83d\\ude00"}', { detail: 'Not / Found 😀' }],
  ["set {x} then {'a': 1}", { a: 1 }],
  ["{'__proto__': 1}", Object.fromEntries([['__proto__', 1]])],
])('%s holds an object', (text, expected) => {
  expect(findLiteralObject(text)).toEqual(expected);
});

test.each([
  'no object',
  "{'a': ",
  "{'a' 1}",
  "{'a': 1 'b': 2}",
  '{<class>}',
  "{'a': '\\",
  '{'.repeat(60_000),
  `{'a': ${'['.repeat(50)}${']'.repeat(50)}}`,
  `${"{'a': ".repeat(50)}1${'}'.repeat(50)}`,
  `{'a': '${'x'.repeat(70_000)}'}`,
])('%.30s holds none', (text) => {
  expect(findLiteralObject(text)).toBeUndefined();
});
