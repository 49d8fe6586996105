/**
 * Users and keys, either over the API of a server or in its database. Both return records as the API does, so that the commands
 * print the same.
 */
import type { LimitChanges } from '../../domain/quotas/limit-store.ts';
import type { Wire } from '../shared/records.ts';

export interface NewUserBody {
  name: string;
  email: string | null;
  role: 'ADMIN' | 'USER';
  /** Null: without a key. */
  key: null | object;
}

export interface NewKeyBody {
  name: string;
  scopes: string[];
  expiresAt: string | null;
  restRevision: string | null;
}

/** Kinds of records that a key can be restricted to one of. */
export type ScopedKind = 'endpoints' | 'pods' | 'templates' | 'volumes' | 'registries';

/** What a user's limits are changed and shown by; null: those of users without their own. */
type OfUser = string | null;

export interface AccessSide {
  listUsers(): Promise<Wire[]>;
  /** By name or id. Throws a sentence if there is none. */
  findUser(nameOrId: string): Promise<Wire>;
  /** Whose keys are meant when nobody is named: on a server, the owner of the key in use. */
  findOwnUser(): Promise<Wire>;
  createUser(body: NewUserBody): Promise<Wire>;
  updateUser(id: string, changes: Wire): Promise<Wire>;
  suspendUser(id: string, how: Wire): Promise<Wire>;
  resumeUser(id: string): Promise<Wire>;
  planRemoval(id: string, heirId: string | null): Promise<Wire>;
  removeUser(id: string, heirId: string | null): Promise<Wire>;
  /** Null once the user is deleted. */
  readRemoval(id: string): Promise<Wire | null>;
  listKeys(user: Wire): Promise<Wire[]>;
  /** Returns the id of a record of the user, by id or name. Throws a sentence if there is none, or several. */
  findRecordId(user: Wire, kind: ScopedKind, idOrName: string): Promise<string>;
  createKey(user: Wire, body: NewKeyBody): Promise<Wire>;
  revokeKey(user: Wire, keyId: string): Promise<void>;
  readLimits(id: OfUser): Promise<Wire>;
  updateLimits(id: OfUser, changes: LimitChanges): Promise<void>;
  readRateLimit(id: string): Promise<Wire>;
  replaceRateLimit(id: string, limit: Wire): Promise<void>;
}

export function noSuchUser(nameOrId: string): string {
  return `there is no user named '${nameOrId}'; \`podyard users list\` shows all`;
}
