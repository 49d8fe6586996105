import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';

/**
 * What a key may do. A key holds a list of scopes and may do whatever one of them permits:
 *
 *     all                                everything
 *     read-only                          every read, of every area
 *     <area>:read | <area>:write         one area; write implies read
 *     <area>/<id>:read | …:write         one record of an area
 *     invoke | invoke/<endpointId>       jobs and requests of every endpoint, or of one
 *
 * Changing an endpoint and sending work to it are different permissions: `serverless:write` cannot run a job, `invoke`
 * cannot change an endpoint.
 */

/** The areas of the interface that a key can be restricted to. */
export const AREAS = [
  'pods',
  'serverless',
  'templates',
  'network-volumes',
  'registries',
  'catalog',
  'billing',
  'account',
] as const;
export type Area = (typeof AREAS)[number];
export type Access = 'read' | 'write';

/**
 * What an operation needs, declared once per route. `resourceId` is the id in the path, if there is one: a key that is
 * restricted to single endpoints is judged by it without a look at the record.
 */
export type Permission =
  | { area: Area; access: Access; resourceId?: string }
  /** `read`: status, health and the like. `write`: run, cancel, purge and every load-balanced request. */
  | { invoke: EndpointId; access: Access };

/** One parsed scope; `resourceId` and `endpointId` are null when it is not restricted to one record. */
export type Scope =
  | { kind: 'all' }
  | { kind: 'read-only' }
  | { kind: 'area'; area: Area; resourceId: string | null; access: Access }
  | { kind: 'invoke'; endpointId: string | null };

const AREA_SCOPE = /^([a-z-]+)(?:\/([a-z0-9]+))?:(read|write)$/;
const INVOKE_SCOPE = /^invoke(?:\/([a-z0-9]+))?$/;

/** Throws a 422 `Failure` whose text names the scope and what is allowed. */
export function parseScope(text: string): Scope {
  if (text === 'all' || text === 'read-only') return { kind: text };
  const invoke = INVOKE_SCOPE.exec(text);
  if (invoke) return { kind: 'invoke', endpointId: invoke[1] ?? null };
  const [, areaName, resourceId, access] = AREA_SCOPE.exec(text) ?? [];
  const area = AREAS.find((candidate) => candidate === areaName);
  if (area) return { kind: 'area', area, resourceId: resourceId ?? null, access: access as Access };
  throw new Failure(
    'unprocessable',
    `'${text}' is not a scope: use all, read-only, invoke, invoke/<endpoint id>, <area>:read, <area>:write or ` +
      `<area>/<id>:read|write, where an area is one of ${AREAS.join(', ')}`,
  );
}

/** The text that `parseScope` reads back. */
export function formatScope(scope: Scope): string {
  switch (scope.kind) {
    case 'area':
      return `${scope.area}${scope.resourceId === null ? '' : `/${scope.resourceId}`}:${scope.access}`;
    case 'invoke':
      return scope.endpointId === null ? 'invoke' : `invoke/${scope.endpointId}`;
    default:
      return scope.kind;
  }
}

export function scopesPermit(scopes: readonly Scope[], permission: Permission): boolean {
  return scopes.some((scope) => scopePermits(scope, permission));
}

function scopePermits(scope: Scope, permission: Permission): boolean {
  switch (scope.kind) {
    case 'all':
      return true;
    case 'read-only':
      return permission.access === 'read';
    case 'invoke':
      return 'invoke' in permission && (scope.endpointId === null || scope.endpointId === permission.invoke);
    case 'area':
      return 'invoke' in permission
        ? permission.access === 'read' && areaPermits(scope, 'serverless', permission.invoke, 'read')
        : areaPermits(scope, permission.area, permission.resourceId, permission.access);
  }
}

function areaPermits(
  scope: Extract<Scope, { kind: 'area' }>,
  area: Area,
  resourceId: string | undefined,
  access: Access,
): boolean {
  return (
    scope.area === area &&
    (scope.resourceId === null || scope.resourceId === resourceId) &&
    (scope.access === 'write' || access === 'read')
  );
}

/**
 * True when whoever holds `scopes` may hand out `wanted`: everything that it permits is permitted by a single one of
 * them. Keeps a key from making a stronger one.
 */
export function scopesCover(scopes: readonly Scope[], wanted: Scope): boolean {
  return scopes.some((scope) => {
    if (scope.kind === 'all') return true;
    if (scope.kind === 'read-only') {
      return wanted.kind === 'read-only' || (wanted.kind === 'area' && wanted.access === 'read');
    }
    if (scope.kind === 'invoke') {
      return wanted.kind === 'invoke' && (scope.endpointId === null || scope.endpointId === wanted.endpointId);
    }
    return wanted.kind === 'area' && areaPermits(scope, wanted.area, wanted.resourceId ?? undefined, wanted.access);
  });
}
