import type { KeyId, UserId } from '../../core/ids.ts';
import { type Permission, type Scope, scopesPermit } from './scopes.ts';

export type { Permission } from './scopes.ts';

/** The caller of an operation: a user, one of their keys, and that key's scopes. */
export interface Actor {
  readonly userId: UserId;
  readonly keyId: KeyId;
  readonly scopes: readonly Scope[];
}

export function isPermitted(actor: Actor, permission: Permission): boolean {
  return scopesPermit(actor.scopes, permission);
}
