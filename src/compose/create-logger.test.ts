import { expect, test } from 'vitest';
import { describeError } from './create-logger.ts';

test('an error is described by type, message, code, stack and causes', () => {
  const cause = Object.assign(new TypeError('inner'), { code: 'ECONNRESET' });
  const described = describeError(new Error('outer', { cause }));
  expect(described).toMatchObject({ type: 'Error', message: 'outer', cause: { type: 'TypeError', message: 'inner' } });
  expect(described.cause?.code).toBe('ECONNRESET');
  expect(described.stack).toMatch(/^ {4}at .*create-logger\.test/);
});

test('data that libraries attach to errors is left out: rows, parameters, headers', () => {
  const error = Object.assign(new Error('new row for relation "jobs" violates check constraint "x"'), {
    code: '23514',
    detail: 'Failing row contains (canary).',
    where: "unnamed portal with parameters: $1 = 'canary'",
    headers: { authorization: 'Bearer canary' },
    errors: ['canary'],
  });
  expect(JSON.stringify(describeError(error))).not.toContain('canary');
});

test("a value that the database's message quotes is left out, of the stack too", () => {
  const error = Object.assign(new Error('invalid input syntax for type bigint: "can"ary\n"'), { code: '22P02' });
  error.stack = `error: ${error.message}\n    at somewhere`;
  expect(JSON.stringify(describeError(error))).not.toMatch(/can|ary/);
  expect(describeError(error)).toMatchObject({ code: '22P02', stack: '    at somewhere' });
});

test('thrown non-errors, very long messages and circular causes are described too', () => {
  expect(describeError('text')).toEqual({ type: 'string', message: 'text' });
  expect(describeError(new Error('a'.repeat(10_000))).message).toHaveLength(2_001);
  const error = new Error('round');
  error.cause = error;
  expect(JSON.stringify(describeError(error)).length).toBeLessThan(30_000);
});
