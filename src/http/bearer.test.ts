import { expect, test } from 'vitest';
import { readBearer, readKey } from './bearer.ts';

test.each(['Bearer abc', 'bearer abc', 'BEARER   abc', ' Bearer abc '])('%j is a bearer token', (header) => {
  expect(readBearer(header)).toBe('abc');
  expect(readKey(header)).toBe('abc');
});

test.each([undefined, ''])('no header (%j) is a missing token', (header) => {
  expect(() => readBearer(header)).toThrow('missing bearer token');
  expect(() => readKey(header)).toThrow('missing bearer token');
});

test.each(['abc', 'Basic abc', 'Bearer', 'Bearer ', 'Bearer a b', 'Bearerabc'])('REST refuses %j', (header) => {
  expect(() => readBearer(header)).toThrow('invalid bearer token');
});

test('the data plane also accepts a raw key', () => {
  expect(readKey('abc')).toBe('abc');
});
