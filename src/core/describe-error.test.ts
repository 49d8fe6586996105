import { expect, test } from 'vitest';
import { describeError } from './describe-error.ts';

test('an error is told with its kind, text, code, place and causes', () => {
  const cause = Object.assign(new TypeError('inner'), { code: 'ECONNRESET' });
  const told = describeError(new Error('outer', { cause }));
  expect(told).toMatchObject({ type: 'Error', message: 'outer', cause: { type: 'TypeError', message: 'inner' } });
  expect(told.cause?.code).toBe('ECONNRESET');
  expect(told.stack).toMatch(/^ {4}at .*describe-error\.test/);
});

test('what libraries hang on their errors stays out: rows, parameters, headers', () => {
  const error = Object.assign(new Error('new row for relation "jobs" violates check constraint "x"'), {
    code: '23514',
    detail: 'Failing row contains (canary).',
    where: "unnamed portal with parameters: $1 = 'canary'",
    headers: { authorization: 'Bearer canary' },
    errors: ['canary'],
  });
  expect(JSON.stringify(describeError(error))).not.toContain('canary');
});

test("a value that the database's text quotes stays out, of the stack as well", () => {
  const error = Object.assign(new Error('invalid input syntax for type bigint: "can"ary\n"'), { code: '22P02' });
  error.stack = `error: ${error.message}\n    at somewhere`;
  expect(JSON.stringify(describeError(error))).not.toMatch(/can|ary/);
  expect(describeError(error)).toMatchObject({ code: '22P02', stack: '    at somewhere' });
});

test('what is no error, what is very long and what causes itself is told all the same', () => {
  expect(describeError('text')).toEqual({ type: 'string', message: 'text' });
  expect(describeError(new Error('a'.repeat(10_000))).message).toHaveLength(2_001);
  const error = new Error('round');
  error.cause = error;
  expect(JSON.stringify(describeError(error)).length).toBeLessThan(30_000);
});
