import { expect, test } from 'vitest';
import {
  countsText,
  NEW_USER,
  newUserBody,
  ROLES,
  rateBody,
  rateForm,
  stateOf,
  type User,
  userSummary,
} from './user-values.ts';

test('a user who is being deleted is not just suspended', () => {
  const user = { suspension: null, removal: null } as User;
  const suspension = { since: '', by: null, reason: null, workloads: 'STOP' as const };
  expect(stateOf(user)).toBe('ACTIVE');
  expect(stateOf({ ...user, suspension })).toBe('SUSPENDED');
  expect(stateOf({ ...user, suspension, removal: { since: '', remaining: {} as never } })).toBe('BEING_DELETED');
});

test('counts are a sentence without what there is none of', () => {
  expect(countsText({ endpoints: 2, pods: 1, volumes: 0, registries: 1 })).toBe('2 endpoints, 1 pod and 1 registry');
  expect(countsText({ secrets: 1 })).toBe('1 secret');
  expect(countsText({ endpoints: 0 })).toBeNull();
});

test('a new user has no email unless one is typed', () => {
  expect(newUserBody({ ...NEW_USER, name: ' Anna ' })).toEqual({ name: 'Anna', email: null, role: 'USER' });
});

test('a rate limit is read back as it was typed; an empty window is inherited, anything else an error', () => {
  const limit = { exempt: false, minute: 5, hour: null, day: 100 };
  expect(rateBody(rateForm(limit))).toEqual({ body: limit, errors: [] });
  expect(rateBody({ ...rateForm(limit), hour: 'many', day: '0' }).errors).toEqual([
    '/hour: must be a whole number from 1',
    '/day: must be a whole number from 1',
  ]);
});

test('the form of a new user has a meaning for each role', () => {
  const meanings = ROLES.map(({ value: role }) => userSummary({ ...NEW_USER, role }).facts[0]!.value);
  expect(new Set(meanings).size).toBe(ROLES.length);
});
