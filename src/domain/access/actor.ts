import { Failure } from '../../core/errors.ts';
import type { KeyId, SessionId, UserId } from '../../core/ids.ts';
import type { RestRevision } from '../../core/rest-revisions.ts';
import { type ActingRole, rolePermits } from './roles.ts';
import { type Permission, type Scope, scopesPermit } from './scopes.ts';

export type { Permission } from './scopes.ts';

/** The caller of an operation: a user, one of their keys, and that key's scopes. */
export interface Actor {
  readonly userId: UserId;
  /** The acting person, if that is not the owner: a member of a team. Absent: `userId` itself acts. */
  readonly personId?: UserId;
  /** As what `personId` acts: it may do what both the scopes and this permit. Absent: whatever the scopes do. */
  readonly actingRole?: ActingRole;
  /** The console's session that the request came with, where no key did: `keyId` is then empty. */
  readonly sessionId?: SessionId;
  /** The person whom the proxy must name with each request of a session that it vouched for. */
  readonly voucher?: string;
  readonly keyId: KeyId;
  readonly scopes: readonly Scope[];
  /** Where the request came from. Absent: from no request. */
  readonly origin?: Origin;
  /** The revision of plain `/v2` for this key. Absent or null: the server's setting. */
  readonly restRevision?: RestRevision | null;
}

/** Where a request came from, for the audit log. */
export interface Origin {
  /** The client's interface: `rest`, `v1`, `graphql`, `cli` or `console`. */
  readonly interface: string;
  readonly address: string;
  readonly requestId: string;
}

/** The caller of an operation that admins and the operator's tools share; null: the tools, which need no key. */
export type Admin = Actor | null;

/** Returns Podyard itself, acting on what a user owns without a request of theirs. */
export function systemActor(userId: UserId): Actor {
  return { userId, keyId: '' as KeyId, scopes: [{ kind: 'all' }] };
}

/** Returns a person at the beginning or the end of their session: its author, whatever the scopes of the key that it came with. */
export function personActor(userId: UserId, sessionId: SessionId): Actor {
  return { ...systemActor(userId), sessionId };
}

/** Podyard itself, before the caller is known, such as at a sign-in. */
export const PODYARD: Actor = systemActor('' as UserId);

/** Throws `forbidden` unless the actor may do it. The text never says which permission is missing; of a role, it says that it is the role. */
export function checkPermission(actor: Actor, permission: Permission): void {
  if (isPermitted(actor, permission)) return;
  const { scopes, actingRole } = actor;
  const isByRole = actingRole !== undefined && scopesPermit(scopes, permission);
  throw new Failure(
    'forbidden',
    isByRole ? `access denied: the role ${actingRole} does not permit this` : 'access denied',
  );
}

export function isPermitted(actor: Actor, permission: Permission): boolean {
  const { scopes, actingRole } = actor;
  return scopesPermit(scopes, permission) && (actingRole === undefined || rolePermits(actingRole, permission));
}

/** Names the right that an open stream depends on: its key or session, and, for a person acting for a team, an unchanged membership. */
export function useIdOf({
  keyId,
  sessionId,
  userId,
  personId,
  actingRole,
}: Pick<Actor, 'keyId' | 'sessionId' | 'userId' | 'personId' | 'actingRole'>): string {
  const id: string = sessionId ?? keyId;
  return actingRole === undefined ? id : `${id}@${userId}:${personId}:${actingRole}`;
}
