import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EndpointId } from '../../core/ids.ts';
import { AREAS, formatScope, type Permission, parseScope, type Scope, scopesCover, scopesPermit } from './scopes.ts';

const permits = (scope: string, permission: Permission) => scopesPermit([parseScope(scope)], permission);
const invoke = (id: string, access: 'read' | 'write'): Permission => ({ invoke: id as EndpointId, access });

describe('the grammar', () => {
  test.each([
    'all',
    'read-only',
    'invoke',
    'invoke/abc123',
    'exec',
    'exec/abc123',
    'serverless:read',
    'network-volumes:write',
    'serverless/abc123:write',
  ])('%s is a scope that is written as it was read', (text) => {
    expect(formatScope(parseScope(text))).toBe(text);
  });

  test.each([
    '',
    'ALL',
    'everything',
    'serverless',
    'serverless:delete',
    'servers:read',
    'serverless/:read',
    'serverless/a b:read',
    'invoke:write',
    'invoke/',
    'exec/',
    'exec:write',
    ' all',
    'all ',
    'read-only:read',
    'serverless:read:write',
  ])('%j is none, and the text says what is', (text) => {
    expect(() => parseScope(text)).toThrow(`'${text}' is not a scope: use all, read-only`);
  });
});

test('all permits everything, read-only every read and nothing else', () => {
  for (const area of AREAS.filter((name) => name !== 'files')) {
    expect(permits('all', { area, access: 'write' })).toBe(true);
    expect(permits('read-only', { area, access: 'read' })).toBe(true);
    expect(permits('read-only', { area, access: 'write' })).toBe(false);
  }
  expect(permits('read-only', invoke('a', 'read'))).toBe(true);
  expect(permits('read-only', invoke('a', 'write'))).toBe(false);
});

test('only the area files permits the files of volumes, and no other key can grant it', () => {
  for (const scope of ['all', 'read-only', 'network-volumes:write', 'exec', 'invoke']) {
    expect(permits(scope, { area: 'files', access: 'read', resourceId: 'a' })).toBe(false);
    expect(scopesCover([parseScope(scope)], parseScope('files/a:read'))).toBe(false);
  }
  expect(permits('files/a:read', { area: 'files', access: 'read', resourceId: 'a' })).toBe(true);
  expect(permits('files/a:read', { area: 'files', access: 'read', resourceId: 'b' })).toBe(false);
  expect(scopesCover([parseScope('files:write')], parseScope('files/a:read'))).toBe(true);
});

test('only exec runs programs in pods and workers, and no other key can grant it', () => {
  for (const scope of ['all', 'read-only', 'pods:write', 'pods/a:write', 'serverless:write', 'invoke']) {
    expect(permits(scope, { exec: 'a' })).toBe(false);
    expect(scopesCover([parseScope(scope)], parseScope('exec/a'))).toBe(false);
  }
  expect(permits('exec', { exec: 'a' })).toBe(true);
  expect(permits('exec/a', { exec: 'a' })).toBe(true);
  expect(permits('exec/a', { exec: 'b' })).toBe(false);
  expect(permits('exec', { area: 'pods', access: 'read' })).toBe(false);
  expect(permits('exec', invoke('a', 'read'))).toBe(false);
  expect(scopesCover([parseScope('exec')], parseScope('exec/a'))).toBe(true);
  expect(scopesCover([parseScope('exec/a')], parseScope('exec'))).toBe(false);
  expect(scopesCover([parseScope('exec')], parseScope('read-only'))).toBe(false);
});

test('write to an area implies read of it, and no other area', () => {
  expect(permits('pods:write', { area: 'pods', access: 'read' })).toBe(true);
  expect(permits('pods:read', { area: 'pods', access: 'write' })).toBe(false);
  expect(permits('pods:write', { area: 'templates', access: 'read' })).toBe(false);
});

test('a scope for one record permits nothing of others or of the whole area', () => {
  expect(permits('serverless/a:write', { area: 'serverless', access: 'write', resourceId: 'a' })).toBe(true);
  expect(permits('serverless/a:write', { area: 'serverless', access: 'read', resourceId: 'b' })).toBe(false);
  expect(permits('serverless/a:write', { area: 'serverless', access: 'read' })).toBe(false);
});

test('sending work to an endpoint needs all or invoke; reading its jobs also works with read', () => {
  for (const scope of ['all', 'invoke', 'invoke/a'])
    expect([scope, permits(scope, invoke('a', 'write'))]).toEqual([scope, true]);
  for (const scope of ['read-only', 'serverless:write', 'serverless/a:write', 'invoke/b']) {
    expect([scope, permits(scope, invoke('a', 'write'))]).toEqual([scope, false]);
  }
  for (const scope of ['all', 'invoke', 'invoke/a', 'read-only', 'serverless:read', 'serverless/a:read']) {
    expect([scope, permits(scope, invoke('a', 'read'))]).toEqual([scope, true]);
  }
  for (const scope of ['invoke/b', 'serverless/b:write', 'pods:write']) {
    expect([scope, permits(scope, invoke('a', 'read'))]).toEqual([scope, false]);
  }
});

test('invoke does not permit reading or changing the endpoint itself', () => {
  expect(permits('invoke', { area: 'serverless', access: 'read', resourceId: 'a' })).toBe(false);
});

test('an empty list of scopes permits nothing', () => {
  expect(scopesPermit([], { area: 'catalog', access: 'read' })).toBe(false);
});

const id = fc.constantFrom('a', 'b');
const access = fc.constantFrom('read' as const, 'write' as const);
const area = fc.constantFrom(...AREAS);
const anyScope: fc.Arbitrary<Scope> = fc.oneof(
  fc.constant<Scope>({ kind: 'all' }),
  fc.constant<Scope>({ kind: 'read-only' }),
  fc.record({ kind: fc.constant('invoke' as const), endpointId: fc.option(id) }),
  fc.record({ kind: fc.constant('area' as const), area, resourceId: fc.option(id), access }),
);
const anyPermission: fc.Arbitrary<Permission> = fc.oneof(
  fc.record({ area, access }),
  fc.record({ area, access, resourceId: id }),
  fc.record({ invoke: id as fc.Arbitrary<EndpointId>, access }),
);

test('a key that may grant a scope is permitted everything the scope permits', () => {
  fc.assert(
    fc.property(fc.array(anyScope), anyScope, anyPermission, (own, wanted, permission) => {
      fc.pre(scopesCover(own, wanted) && scopesPermit([wanted], permission));
      expect(scopesPermit(own, permission)).toBe(true);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['templates:read', 'templates:write'],
  ['templates:write', 'pods:read'],
  ['templates/a:write', 'templates:read'],
  ['templates/a:write', 'templates/b:read'],
  ['read-only', 'templates:write'],
  ['read-only', 'invoke'],
  ['invoke/a', 'invoke'],
  ['invoke', 'serverless:read'],
])('a key with %s cannot grant %s', (own, wanted) => {
  expect(scopesCover([parseScope(own)], parseScope(wanted))).toBe(false);
});

test('every scope may grant itself', () => {
  fc.assert(
    fc.property(anyScope, (scope) => {
      expect(scopesCover([scope], scope)).toBe(true);
    }),
  );
});
