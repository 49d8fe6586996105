import { expect, test } from 'vitest';
import { Failure } from '../core/errors.ts';
import { toFailure } from './to-failure.ts';

test('a Failure stays as it is', () => {
  const failure = new Failure('conflict', 'taken');
  expect(toFailure(failure)).toBe(failure);
});

test.each([
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  Object.assign(new Error('connect ENOENT /run/.s.PGSQL.5432'), { code: 'ENOENT' }),
  Object.assign(new Error('terminating connection'), { code: '57P01' }),
  new Error('Connection terminated unexpectedly'),
  new Error('timeout exceeded when trying to connect'),
])('an unreachable database is `unavailable`: %s', (error) => {
  expect(toFailure(error)).toMatchObject({ kind: 'unavailable', message: 'The database is not reachable.' });
});

test.each([new Error('secret text'), 'text', undefined, null, Object.assign(new Error('x'), { code: '42P01' })])(
  'anything else is `internal` and does not show its text',
  (error) => {
    const failure = toFailure(error);
    expect(failure).toMatchObject({ kind: 'internal', message: 'An unexpected error occurred.' });
    expect(failure.cause).toBe(error);
  },
);
