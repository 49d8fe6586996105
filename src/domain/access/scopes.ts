import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import type { TeamRole } from './team-roles.ts';

/**
 * A key's permissions. A key has a list of scopes and may do whatever one of them permits:
 *
 *     all                                everything
 *     read-only                          every read, of every area
 *     <area>:read | <area>:write         one area; write implies read
 *     <area>/<id>:read | …:write         one record of an area
 *     invoke | invoke/<endpointId>       jobs and requests of every endpoint, or of one
 *     exec | exec/<id>                   programs in every pod and worker, or in one pod or one endpoint's workers
 *
 * `all` does not include `exec`, so that no key of before opens a terminal (docs/decisions/0053-terminals.md). Neither `all` nor
 * `read-only` includes the area `files`, the content of volumes (docs/decisions/0113-files-of-volumes.md).
 *
 * Changing an endpoint and sending work to it are separate: `serverless:write` cannot run a job, and `invoke` cannot
 * change an endpoint.
 */

/** The areas of the API that a key can be restricted to. */
export const AREAS = [
  'pods',
  'serverless',
  'builds',
  'templates',
  'network-volumes',
  'files',
  'registries',
  'catalog',
  'billing',
  'account',
  'users',
] as const;
export type Area = (typeof AREAS)[number];
export type Access = 'read' | 'write';

/**
 * The permission that an operation needs, declared once per route. `resourceId`: the id in the path, if any, so that a
 * restricted key is checked without reading the record.
 */
export type Permission =
  /**
   * `orArea`: keys of that area may do it too, as they could before `area` existed. `member`: what a team's member must be, where
   * the access does not say it. `isSecret`: hidden from auditors.
   */
  | { area: Area; access: Access; resourceId?: string; orArea?: Area; member?: TeamRole; isSecret?: true }
  /** `read`: status, health and the like. `write`: run, cancel, purge, and load-balanced requests. */
  | { invoke: EndpointId; access: Access }
  /** Programs in a pod, or in the workers of an endpoint. */
  | { exec: string };

/** A parsed scope; `resourceId` and `endpointId` are null if it covers all records. */
export type Scope =
  | { kind: 'all' }
  | { kind: 'read-only' }
  | { kind: 'area'; area: Area; resourceId: string | null; access: Access }
  | { kind: 'invoke'; endpointId: string | null }
  | { kind: 'exec'; resourceId: string | null };

const AREA_SCOPE = /^([a-z-]+)(?:\/([a-z0-9]+))?:(read|write)$/;
const INVOKE_SCOPE = /^invoke(?:\/([a-z0-9]+))?$/;
const EXEC_SCOPE = /^exec(?:\/([a-z0-9]+))?$/;

/** Throws `unprocessable` with the scope and what is allowed. */
export function parseScope(text: string): Scope {
  if (text === 'all' || text === 'read-only') return { kind: text };
  const invoke = INVOKE_SCOPE.exec(text);
  if (invoke) return { kind: 'invoke', endpointId: invoke[1] ?? null };
  const exec = EXEC_SCOPE.exec(text);
  if (exec) return { kind: 'exec', resourceId: exec[1] ?? null };
  const [, areaName, resourceId, access] = AREA_SCOPE.exec(text) ?? [];
  const area = AREAS.find((candidate) => candidate === areaName);
  if (area) return { kind: 'area', area, resourceId: resourceId ?? null, access: access as Access };
  throw new Failure(
    'unprocessable',
    `'${text}' is not a scope: use all, read-only, invoke, invoke/<endpoint id>, exec, exec/<pod or endpoint id>, <area>:read, <area>:write or ` +
      `<area>/<id>:read|write, where an area is one of ${AREAS.join(', ')}`,
  );
}

/** Returns the text that `parseScope` parses. */
export function formatScope(scope: Scope): string {
  switch (scope.kind) {
    case 'area':
      return `${scope.area}${scope.resourceId === null ? '' : `/${scope.resourceId}`}:${scope.access}`;
    case 'invoke':
      return scope.endpointId === null ? 'invoke' : `invoke/${scope.endpointId}`;
    case 'exec':
      return scope.resourceId === null ? 'exec' : `exec/${scope.resourceId}`;
    default:
      return scope.kind;
  }
}

export function scopesPermit(scopes: readonly Scope[], permission: Permission): boolean {
  return scopes.some((scope) => scopePermits(scope, permission));
}

function scopePermits(scope: Scope, permission: Permission): boolean {
  if (scope.kind === 'exec' || 'exec' in permission) {
    const isBoth = scope.kind === 'exec' && 'exec' in permission;
    return isBoth && (scope.resourceId === null || scope.resourceId === permission.exec);
  }
  if ('area' in permission && permission.area === 'files' && scope.kind !== 'area') return false;
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
        : [permission.area, permission.orArea].some(
            (area) => area && areaPermits(scope, area, permission.resourceId, permission.access),
          );
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
 * True if a key with `scopes` may grant `wanted`: one of its scopes permits everything that `wanted` permits. So no key
 * can create a stronger one.
 */
export function scopesCover(scopes: readonly Scope[], wanted: Scope): boolean {
  return scopes.some((scope) => {
    if (scope.kind === 'exec' || wanted.kind === 'exec') {
      const isBoth = scope.kind === 'exec' && wanted.kind === 'exec';
      return isBoth && (scope.resourceId === null || scope.resourceId === wanted.resourceId);
    }
    if (wanted.kind === 'area' && wanted.area === 'files' && scope.kind !== 'area') return false;
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
