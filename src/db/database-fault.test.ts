import { expect, test } from 'vitest';
import { databaseFailure, isWriteFault } from './database-fault.ts';

const withCode = (code: string, message = 'secret text') => Object.assign(new Error(message), { code });

test.each([
  ['53100', "The database's disk is full; nothing was stored."],
  ['53200', 'The database is out of memory; nothing was stored.'],
  ['53300', 'The database has no free connection; nothing was stored.'],
  ['53400', 'The database is short of a resource; nothing was stored.'],
  ['25006', 'The database is read-only; nothing was stored.'],
  ['57014', 'The database ended the statement; nothing was stored.'],
  ['58030', 'The database cannot use its files; nothing was stored.'],
  ['57P01', 'The database is not reachable.'],
  ['57P03', 'The database is not reachable.'],
  ['08006', 'The database is not reachable.'],
  ['ECONNREFUSED', 'The database is not reachable.'],
  ['EPIPE', 'The database is not reachable.'],
])('%s is a 503 that may be repeated: %s', (code, message) => {
  expect(databaseFailure(withCode(code))).toMatchObject({ kind: 'unavailable', message, retryAfterSeconds: 5 });
});

test.each(['42P01', '23505', '22001', '40001', '25001', 'EACCES'])('%s is not a fault of the database', (code) => {
  expect(databaseFailure(withCode(code))).toBeUndefined();
});

test('writes alone fail while the disk is full or the database is read-only', () => {
  expect(['53100', '25006', '58030'].every((code) => isWriteFault(withCode(code)))).toBe(true);
  expect(['53300', '57P01', 'ECONNREFUSED'].some((code) => isWriteFault(withCode(code)))).toBe(false);
});
