import { STATUS_CODES } from 'node:http';
import { expect, test } from 'vitest';
import { FAILURES, Failure, messageOf, notFound } from './errors.ts';

test('every kind of failure has the title of its HTTP status', () => {
  const HTTP_TITLES: Record<number, string> = { ...STATUS_CODES, 413: 'Content Too Large' }; // RFC 9110's name; Node has the older one
  for (const { status, title } of Object.values(FAILURES)) expect(title).toBe(HTTP_TITLES[status]);
});

test('a cause is not part of the public message', () => {
  const failure = new Failure('unavailable', 'the database is not reachable', { cause: new Error('10.0.0.7 refused') });
  expect(failure.message).not.toContain('10.0.0.7');
  expect(messageOf(failure.cause)).toContain('10.0.0.7');
  expect('cause' in new Failure('conflict', 'no')).toBe(false);
});

test('a missing record and another user’s give the same message', () => {
  expect(notFound('endpoint')).toEqual(notFound('endpoint'));
  expect(notFound('endpoint')).toMatchObject({ kind: 'notFound', message: 'endpoint not found' });
});

test('anything thrown has a message', () => {
  expect(messageOf(new Error('why'))).toBe('why');
  expect(messageOf('why')).toBe('why');
  expect(messageOf(undefined)).toBe('undefined');
});
