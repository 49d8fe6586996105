import { expect, test } from 'vitest';
import { ApiError } from '../../api/api-error.ts';
import { sortErrors } from './sort-errors.ts';

const invalid = (...errors: string[]) => new ApiError(422, 'the body is invalid', errors);

test('an error goes to the field named by its location', () => {
  expect(sortErrors(invalid('/workers/min: must be >= 0', '$/name: is required'), ['name', 'workers.min'])).toEqual({
    fields: { 'workers.min': 'Min workers: at least 0 workers', name: 'Name is required' },
    other: [],
  });
});

test('an error below a field goes to that field; the field listed first wins', () => {
  expect(sortErrors(invalid('/gpu/pools/0: is unknown'), ['gpu.pools', 'gpu']).fields).toEqual({
    'gpu.pools': 'GPU pools are unknown',
  });
  expect(sortErrors(invalid('/gpu/pools/0: is unknown'), ['gpu', 'gpu.pools']).fields).toEqual({
    gpu: 'GPU pools are unknown',
  });
});

test('a field that merely shares a prefix does not get the error', () => {
  expect(sortErrors(invalid('/images: is unknown'), ['image'])).toEqual({ fields: {}, other: ['Images is unknown'] });
});

test('a colon in the message is kept', () => {
  expect(sortErrors(invalid('/image: invalid reference: empty'), ['image']).fields).toEqual({
    image: 'Image: invalid reference: empty',
  });
});

test('an error without field errors is about the whole form', () => {
  expect(sortErrors(new ApiError(409, 'it is locked'), ['name']).other).toEqual(['it is locked']);
  expect(sortErrors(new TypeError('oops'), ['name']).other).toEqual(['oops']);
  expect(sortErrors('oops', ['name']).other).toEqual(['oops']);
});

test('a missing field is named, and a position in a list is left out', () => {
  expect(
    sortErrors(invalid("$: must have required property 'name'", '/cpu/0/id: is unknown'), ['name', 'cpu.id']),
  ).toEqual({
    fields: { name: 'Name is required', 'cpu.id': 'CPU is unknown' },
    other: [],
  });
});

test('a name that is taken is an error of the name', () => {
  for (const detail of ['the name is taken', "there is already a network volume named 'x'"]) {
    expect(sortErrors(new ApiError(409, detail), ['name']).fields).toEqual({ name: detail });
  }
});

test('an item of a list that cannot be had is an error of the list', () => {
  const error = new ApiError(400, 'models[0]: the hub has no model org/none');
  expect(sortErrors(error, ['models'])).toEqual({ fields: { models: 'the hub has no model org/none' }, other: [] });
  expect(sortErrors(error, ['name']).other).toEqual([error.message]);
});
