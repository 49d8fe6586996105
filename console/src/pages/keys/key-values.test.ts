import { describe, expect, test } from 'vitest';
import { AREAS, parseScope } from '../../../../src/domain/access/scopes.ts';
import { formatDate } from '../../ui/text/format.ts';
import {
  hasExec,
  keyState,
  keySummary,
  LIFETIMES,
  linesOf,
  makerText,
  NEW_KEY,
  newKeyBody,
  PRESETS,
  REVISIONS,
  scopeGroups,
  warningsOf,
} from './key-values.ts';

const NOW_MS = Date.parse('2026-11-20T09:30:00.000Z');

test('a key expires after 90 days, unless another lifetime is chosen', () => {
  expect(newKeyBody({ ...NEW_KEY, name: 'for CI' }, NOW_MS).expiresAt).toBe('2027-02-18T09:30:00.000Z');
  expect(newKeyBody({ ...NEW_KEY, name: 'for CI', days: '' }, NOW_MS)).toEqual({
    name: 'for CI',
    scopes: ['all'],
    expiresAt: null,
  });
});

test('a lifetime counts from now', () => {
  const expiries = LIFETIMES.map(({ value }) => newKeyBody({ ...NEW_KEY, days: value }, NOW_MS).expiresAt);
  expect(expiries).toEqual([
    null,
    '2026-11-21T09:30:00.000Z',
    '2026-12-20T09:30:00.000Z',
    '2027-02-18T09:30:00.000Z',
    '2027-11-20T09:30:00.000Z',
  ]);
});

test('a revision is sent only if one is chosen', () => {
  const bodies = REVISIONS.map(({ value }) => newKeyBody({ ...NEW_KEY, name: 'x', revision: value }, NOW_MS));
  expect(bodies.map((body) => body.restRevision)).toEqual([undefined, '2026-07', '2026-08']);
});

test('SSH keys are one per line; empty lines are ignored', () => {
  expect(linesOf(' ssh-ed25519 A me \n\nssh-rsa B\r\n')).toEqual(['ssh-ed25519 A me', 'ssh-rsa B']);
  expect(linesOf('')).toEqual([]);
});

test('every preset is of scopes that the server has', () => {
  for (const { scopes } of PRESETS) for (const scope of scopes) expect(() => parseScope(scope)).not.toThrow();
});

describe('a key', () => {
  const key = {
    id: 'k',
    name: 'ci',
    scopes: ['all'],
    allowedAddresses: [],
    disabled: false,
    createdAt: '2026-01-01T00:00:00.000Z',
    expiresAt: '2027-01-01T00:00:00.000Z',
    restRevision: null,
    lastUsedAt: '2026-11-20T00:00:00.000Z',
    createdBy: null,
  };

  test('is warned of if it never expires, has expired, or was not used for 90 days', () => {
    expect(warningsOf(key, NOW_MS)).toEqual([]);
    expect(warningsOf({ ...key, expiresAt: null }, NOW_MS)).toEqual(['Never expires']);
    expect(warningsOf({ ...key, lastUsedAt: '2026-08-22T09:30:00.000Z' }, NOW_MS)).toEqual(['No use in 90 days']);
    expect(warningsOf({ ...key, lastUsedAt: null, expiresAt: null }, NOW_MS)).toEqual([
      'Never expires',
      'No use in 90 days',
    ]);
    expect(warningsOf({ ...key, lastUsedAt: null, createdAt: '2026-11-01T00:00:00.000Z' }, NOW_MS)).toEqual([]);
  });

  test('has a state, and once it is refused for that, no more warnings', () => {
    const stateAndWarnings = (change: object) => {
      const of = { ...key, expiresAt: null, ...change };
      return [keyState(of, NOW_MS), ...warningsOf(of, NOW_MS)];
    };
    expect(stateAndWarnings({})).toEqual(['ACTIVE', 'Never expires']);
    expect(stateAndWarnings({ disabled: true })).toEqual(['DISABLED']);
    expect(stateAndWarnings({ disabled: true, expiresAt: '2026-11-20T09:30:00.000Z' })).toEqual(['EXPIRED']);
    expect(stateAndWarnings({ lastUsedAt: '2026-08-22T09:30:00.000Z' })).toEqual([
      'UNUSED',
      'Never expires',
      'No use in 90 days',
    ]);
  });

  test('names who made it, with which key, as far as they still exist', () => {
    const by = { userId: 'u', userName: 'anna', keyId: 'k', keyName: 'laptop' };
    expect(makerText(key)).toBeNull();
    expect(makerText({ ...key, createdBy: by })).toBe('anna (key laptop)');
    expect(makerText({ ...key, createdBy: { ...by, keyName: null } })).toBe('anna');
    expect(makerText({ ...key, createdBy: { ...by, userName: null, keyName: null } })).toBe('A deleted user');
  });
});

const records = {
  endpoints: [{ id: 'e1', name: 'gpj.\u202eexe' }],
  pods: [{ id: 'p1', name: 'box' }],
  templates: [{ id: 't1', name: 'base' }],
  volumes: [{ id: 'v1', name: 'data' }],
  registries: [{ id: 'r1', name: 'ghcr' }],
};
const choices = scopeGroups(records).flatMap(({ items }) => items);
const values = choices.map(({ value }) => value);

test('every scope that is offered is one of the server’s, and says what it allows', () => {
  for (const { value, allows } of choices) {
    expect(() => parseScope(value)).not.toThrow();
    expect(allows).not.toBe('');
  }
});

test('every area, jobs, terminals, and each of them for one record can be chosen', () => {
  expect(values).toEqual(
    expect.arrayContaining(['all', 'read-only', 'invoke', 'exec', 'invoke/e1', 'exec/e1', 'exec/p1']),
  );
  for (const area of AREAS) expect(values).toEqual(expect.arrayContaining([`${area}:read`, `${area}:write`]));
  expect(values).toEqual(
    expect.arrayContaining([
      'serverless/e1:read',
      'pods/p1:write',
      'templates/t1:read',
      'network-volumes/v1:write',
      'registries/r1:read',
    ]),
  );
  expect(new Set(values).size).toBe(values.length);
});

test('a record is shown by its name, without what it hides', () => {
  expect(choices.find(({ value }) => value === 'invoke/e1')!.label).toBe('gpj.\\u202eexe · invoke');
});

test('groups without records are left out', () => {
  expect(scopeGroups({}).map(({ group }) => group)).toEqual(['General', 'One area']);
});

test('terminals are named apart, because no other scope includes them', () => {
  expect(hasExec(['all', 'invoke'])).toBe(false);
  expect(hasExec(['all', 'exec/p1'])).toBe(true);
});

test('a new key says what it may do by the names of records, and when it ends', () => {
  const endpoints = [{ id: 'e1', name: 'chat' }];
  const now = Date.parse('2026-11-27T12:00:00Z');
  const summary = keySummary({ ...NEW_KEY, scopes: ['read-only', 'invoke/e1'], days: '1' }, { endpoints }, now);
  expect(summary.facts.map(({ value }) => value)).toEqual([
    'Read everything, change nothing; chat · invoke: Send jobs and requests to it',
    formatDate('2026-11-28T12:00:00Z'),
    'once, when it is created',
  ]);
  const scopes = ['pods:read', 'files:read', 'users:read', 'billing:read', 'catalog:read', 'exec/gone'];
  const endless = keySummary({ ...NEW_KEY, scopes, days: '' }, {}, now);
  expect(endless.facts[1]).toEqual({ label: 'And', value: '2 more scopes' });
  expect(endless.warning).toBe('It works until somebody deletes it.');
  expect(keySummary({ ...NEW_KEY, scopes: ['exec/gone'] }, {}, now).facts[0]!.value).toBe('exec/gone');
});
