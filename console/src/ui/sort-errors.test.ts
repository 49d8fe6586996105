import { expect, test } from 'vitest';
import { ApiError } from '../api/api-error.ts';
import { sortErrors } from './sort-errors.ts';

const invalid = (...errors: string[]) => new ApiError(422, 'the body is invalid', errors);

test('an error goes to the field named by its location', () => {
  expect(sortErrors(invalid('/workers/min: must be >= 0', '$/name: is required'), ['name', 'workers.min'])).toEqual({
    fields: { 'workers.min': 'must be >= 0', name: 'is required' },
    other: [],
  });
});

test('an error below a field goes to that field; the field listed first wins', () => {
  expect(sortErrors(invalid('/gpu/pools/0: is unknown'), ['gpu.pools', 'gpu']).fields).toEqual({
    'gpu.pools': 'is unknown',
  });
  expect(sortErrors(invalid('/gpu/pools/0: is unknown'), ['gpu', 'gpu.pools']).fields).toEqual({ gpu: 'is unknown' });
});

test('a field that merely shares a prefix does not get the error', () => {
  expect(sortErrors(invalid('/images: is unknown'), ['image'])).toEqual({ fields: {}, other: ['/images: is unknown'] });
});

test('a colon in the message is kept', () => {
  expect(sortErrors(invalid('/image: invalid reference: empty'), ['image']).fields).toEqual({
    image: 'invalid reference: empty',
  });
});

test('an error without field errors is about the whole form', () => {
  expect(sortErrors(new ApiError(409, 'the name is taken'), ['name']).other).toEqual(['the name is taken']);
  expect(sortErrors(new TypeError('oops'), ['name']).other).toEqual(['oops']);
  expect(sortErrors('oops', ['name']).other).toEqual(['oops']);
});
