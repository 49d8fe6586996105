import { expect, test } from 'vitest';
import type { Failure } from '../../core/errors.ts';
import { checkContainer } from './check-container.ts';

function errorsOf(given: Parameters<typeof checkContainer>[0]): readonly string[] {
  try {
    checkContainer(given);
    return [];
  } catch (error) {
    expect(error).toMatchObject({ kind: 'unprocessable' });
    return (error as Failure).errors!;
  }
}

const values = (count: number, bytes: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`N${i}`, 'x'.repeat(bytes)]));

test('absent fields are not checked', () => {
  expect(errorsOf({})).toEqual([]);
});

test('a malformed image is refused with its place and its fault', () => {
  expect(errorsOf({ image: 'ghcr.io//me/app:1' })).toEqual([
    "/image: 'ghcr.io//me/app:1' is not a valid image reference: empty path component",
  ]);
});

test('an env at its limits is taken', () => {
  expect(errorsOf({ env: { BIG: 'x'.repeat(65_536) } })).toEqual([]);
  expect(errorsOf({ env: values(500, 1_000) })).toEqual([]);
});

test('an env beyond a limit is refused with the limit and the figure', () => {
  expect(errorsOf({ env: { BIG: 'é'.repeat(32_769) } })).toEqual([
    '/env/BIG: the value has 65538 bytes, but at most 65536 are allowed',
  ]);
  expect(errorsOf({ env: values(501, 1) })).toEqual(['/env: 501 variables, but at most 500 are allowed']);
  expect(errorsOf({ env: values(9, 60_000) })).toEqual([
    '/env: names and values have 540018 bytes, but at most 524288 are allowed',
  ]);
});
