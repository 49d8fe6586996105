import { expect, test } from 'vitest';
import { AREAS, parseScope } from '../../../../src/domain/access/scopes.ts';
import { hasExec, scopeGroups } from './key-scopes.ts';

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
