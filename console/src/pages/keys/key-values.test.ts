import { expect, test } from 'vitest';
import { LIFETIMES, linesOf, NEW_KEY, newKeyBody, REVISIONS, SUGGESTED_SCOPES } from './key-values.ts';

const NOW_MS = Date.parse('2026-11-20T09:30:00.000Z');

test('a key does not expire unless a lifetime is chosen', () => {
  expect(newKeyBody({ ...NEW_KEY, name: 'for CI' }, NOW_MS)).toEqual({
    name: 'for CI',
    scopes: ['all'],
    expiresAt: null,
  });
});

test('a lifetime counts from now', () => {
  const expiries = LIFETIMES.map(({ value }) => newKeyBody({ ...NEW_KEY, days: value }, NOW_MS).expiresAt);
  expect(expiries).toEqual([null, '2026-11-21T09:30:00.000Z', '2026-12-20T09:30:00.000Z', '2027-11-20T09:30:00.000Z']);
});

test('a revision is sent only if one is chosen', () => {
  const bodies = REVISIONS.map(({ value }) => newKeyBody({ ...NEW_KEY, name: 'x', revision: value }, NOW_MS));
  expect(bodies.map((body) => body.restRevision)).toEqual([undefined, '2026-07', '2026-08']);
});

test('read and write scopes of each area are suggested', () => {
  expect(SUGGESTED_SCOPES).toEqual(expect.arrayContaining(['all', 'invoke', 'pods:read', 'pods:write']));
});

test('SSH keys are one per line; empty lines are ignored', () => {
  expect(linesOf(' ssh-ed25519 A me \n\nssh-rsa B\r\n')).toEqual(['ssh-ed25519 A me', 'ssh-rsa B']);
  expect(linesOf('')).toEqual([]);
});
