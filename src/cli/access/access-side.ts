/**
 * Users and keys, either over the API of a server or in its database. Both return records as the API does, so that the commands
 * print the same.
 */
import type { LimitChanges } from '../../domain/quotas/limit-store.ts';
import type { Schemas } from '../shared/api-types.ts';

export type User = Schemas['UserAccount'];

/** The owner of keys. */
export interface KeyOwner {
  userId: string;
  name: string;
  /** True for the owner of the key in use, who need not be an admin. */
  isOwn?: boolean;
}

export interface NewUserBody {
  name: string;
  email: string | null;
  role: User['role'];
  /** Null: without a key. */
  key: null | object;
}

export interface NewKeyBody {
  name: string;
  scopes: string[];
  expiresAt: string | null;
  restRevision: Schemas['ApiKey']['restRevision'];
}

/** Kinds of records that a key can be restricted to one of. */
export type ScopedKind = 'endpoints' | 'pods' | 'templates' | 'volumes' | 'registries';

/** A user's id; null: the defaults of users without limits of their own. */
type OfUser = string | null;

export interface AccessSide {
  listUsers(): Promise<User[]>;
  /** By name or id. Throws a sentence if there is none. */
  findUser(nameOrId: string): Promise<User>;
  /** Returns the default owner of keys: on a server, the owner of the key in use. */
  findOwnUser(): Promise<KeyOwner>;
  createUser(body: NewUserBody): Promise<Schemas['CreatedUser']>;
  updateUser(id: string, changes: Schemas['UpdateUserRequest']): Promise<User>;
  suspendUser(id: string, how: Schemas['SuspendUserRequest']): Promise<User>;
  resumeUser(id: string): Promise<User>;
  /** Returns the link, which is shown only now; without the server's address where that is not known. */
  inviteUser(id: string, hours: number): Promise<Schemas['CreatedInvitation']>;
  revokeInvitation(id: string): Promise<void>;
  removePassword(id: string): Promise<void>;
  planRemoval(id: string, newOwnerId: string | null): Promise<Schemas['RemovalPlan']>;
  removeUser(id: string, newOwnerId: string | null): Promise<User>;
  /** Null once the user is deleted. */
  readRemoval(id: string): Promise<User | null>;
  listKeys(owner: KeyOwner): Promise<Schemas['ApiKey'][]>;
  /** Returns the id of a record of the user, by id or name. Throws a sentence if there is none, or several. */
  findRecordId(owner: KeyOwner, kind: ScopedKind, idOrName: string): Promise<string>;
  createKey(owner: KeyOwner, body: NewKeyBody): Promise<Schemas['CreatedApiKey']>;
  revokeKey(owner: KeyOwner, keyId: string): Promise<void>;
  readLimits(id: OfUser): Promise<Schemas['UserLimits'] | Schemas['InstallationLimits']>;
  updateLimits(id: OfUser, changes: LimitChanges): Promise<void>;
  readRateLimit(id: string): Promise<Schemas['UserRateLimit']>;
  replaceRateLimit(id: string, limit: Schemas['UserRateLimit']): Promise<void>;
}

export function noSuchUser(nameOrId: string): string {
  return `there is no user named '${nameOrId}'; \`podyard users list\` shows all`;
}
