import { systemClock } from '../../core/clock.ts';
import type { KeyId, UserId } from '../../core/ids.ts';
import type { RestRevision } from '../../core/rest-revisions.ts';
import { createApiKey, type NewApiKey, revokeApiKey } from '../../domain/access/create-api-key.ts';
import { FIRST_USER } from '../../domain/access/ensure-first-user.ts';
import { listKeys } from '../../domain/access/key-store.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import { findUser, findUserByName, type SuspendedWorkloads } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import type { Context } from '../../domain/context.ts';
import { createInvitation, revokeInvitation } from '../../domain/local-accounts/invitations.ts';
import { removePassword } from '../../domain/local-accounts/passwords.ts';
import { type LimitChanges, readSetLimits } from '../../domain/quotas/limit-store.ts';
import { updateLimits } from '../../domain/quotas/update-limits.ts';
import { findUserRateLimit, updateUserRateLimit } from '../../domain/rate-limits/user-rate-limit.ts';
import { resumeUser, suspendUser, updateUser } from '../../domain/users/change-user.ts';
import { createUserWithKey } from '../../domain/users/create-user.ts';
import { getUserAccount, listUserPage, MAX_USERS } from '../../domain/users/list-users.ts';
import { planRemoval, requestRemoval } from '../../domain/users/request-removal.ts';
import { toApiKeyResponse } from '../../rest/account/api-key-wire.ts';
import { renderInstallationLimits } from '../../rest/limits/limit-wire.ts';
import { renderRateLimit, renderUserAccount, toRateLimit } from '../../rest/users/user-wire.ts';
import { findIdInDatabase } from '../server/find-in-database.ts';
import type { Schemas } from '../shared/api-types.ts';
import {
  type AccessSide,
  type KeyOwner,
  type NewKeyBody,
  type NewUserBody,
  noSuchUser,
  type ScopedKind,
  type User,
} from './access-side.ts';

const FIRST_KEY = { name: 'first key', scopes: ['all'], expiresAt: null, restRevision: null };

/** Users and keys in the database: access to the database needs no key. */
export class DatabaseSide implements AccessSide {
  readonly #context: Context;
  readonly #allowInsecureProcesses: boolean;

  constructor(context: Context, allowInsecureProcesses = false) {
    this.#context = context;
    this.#allowInsecureProcesses = allowInsecureProcesses;
  }

  async listUsers(): Promise<User[]> {
    const users: User[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const page = await listUserPage(this.#context.pool, { limit: MAX_USERS, ...(after && { after }) });
      users.push(...page.users.map(renderUserAccount));
      after = page.next;
    }
    return users;
  }

  async findUser(nameOrId: string): Promise<User> {
    const { pool } = this.#context;
    const user = (await findUserByName(pool, nameOrId)) ?? (await findUser(pool, nameOrId as UserId));
    if (!user) throw new Error(noSuchUser(nameOrId));
    return this.#read(user.id);
  }

  findOwnUser(): Promise<User> {
    return this.findUser(FIRST_USER);
  }

  async createUser({ key, ...input }: NewUserBody): Promise<Schemas['CreatedUser']> {
    const facts = { takesSeveralUsers: this.#allowInsecureProcesses };
    const first = key && toNewKey({ ...FIRST_KEY, ...key });
    const made = await change({ ...this.#context, clock: systemClock, facts }, null, createUserWithKey, {
      ...input,
      key: first,
    });
    const record = made.key && { ...toApiKeyResponse(made.key), secret: made.secret! };
    return { ...(await this.#read(made.user.id)), key: record };
  }

  async updateUser(id: string, changes: Schemas['UpdateUserRequest']): Promise<User> {
    await change(this.#context, null, updateUser, { id: id as UserId, changes });
    return this.#read(id);
  }

  async suspendUser(id: string, { workloads, reason }: Schemas['SuspendUserRequest']): Promise<User> {
    await change(this.#context, null, suspendUser, {
      id: id as UserId,
      workloads: workloads as SuspendedWorkloads,
      reason: reason ?? null,
    });
    return this.#read(id);
  }

  async resumeUser(id: string): Promise<User> {
    await change(this.#context, null, resumeUser, { id: id as UserId });
    return this.#read(id);
  }

  async inviteUser(id: string, hours: number): Promise<Schemas['CreatedInvitation']> {
    const { invitation, secret } = await change(this.#context, null, createInvitation, { id: id as UserId, hours });
    const { createdAt, expiresAt } = invitation;
    return {
      url: `/#/invitation/${secret}`,
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt.toISOString(),
    };
  }

  async removePassword(id: string): Promise<void> {
    await change(this.#context, null, removePassword, { id: id as UserId });
  }

  async revokeInvitation(id: string): Promise<void> {
    await change(this.#context, null, revokeInvitation, { id: id as UserId });
  }

  async planRemoval(id: string, newOwnerId: string | null): Promise<Schemas['RemovalPlan']> {
    return planRemoval(this.#context.pool, id as UserId, newOwnerId as UserId | null);
  }

  async removeUser(id: string, newOwnerId: string | null): Promise<User> {
    await change(this.#context, null, requestRemoval, { id: id as UserId, newOwnerId: newOwnerId as UserId | null });
    return this.#read(id);
  }

  async readRemoval(id: string): Promise<User | null> {
    return (await findUser(this.#context.pool, id as UserId)) ? this.#read(id) : null;
  }

  async listKeys({ userId }: KeyOwner): Promise<Schemas['ApiKey'][]> {
    return (await listKeys(this.#context.pool, userId as UserId)).map(toApiKeyResponse);
  }

  findRecordId({ userId }: KeyOwner, kind: ScopedKind, idOrName: string): Promise<string> {
    return findIdInDatabase(
      this.#context.pool,
      kind === 'volumes' ? 'network_volumes' : kind,
      idOrName,
      userId as UserId,
    );
  }

  async createKey({ userId }: Pick<KeyOwner, 'userId'>, input: NewKeyBody): Promise<Schemas['CreatedApiKey']> {
    const context = { ...this.#context, clock: systemClock };
    const { key, secret } = await change(context, null, createApiKey, { userId: userId as UserId, ...toNewKey(input) });
    return { ...toApiKeyResponse(key), secret };
  }

  revokeKey({ userId }: KeyOwner, keyId: string): Promise<void> {
    return change(this.#context, null, revokeApiKey, { userId: userId as UserId, keyId: keyId as KeyId });
  }

  async readLimits(id: string | null): Promise<Schemas['UserLimits'] | Schemas['InstallationLimits']> {
    if (id !== null) return this.#read(id);
    return renderInstallationLimits((await readSetLimits(this.#context.pool, [])).installation);
  }

  async updateLimits(id: string | null, changes: LimitChanges): Promise<void> {
    await change(this.#context, null, updateLimits, { userId: id as UserId | null, changes });
  }

  async readRateLimit(id: string): Promise<Schemas['UserRateLimit']> {
    return renderRateLimit((await findUserRateLimit(this.#context.pool, id as UserId)) ?? {});
  }

  async replaceRateLimit(id: string, limit: Schemas['UserRateLimit']): Promise<void> {
    await change(this.#context, null, updateUserRateLimit, {
      userId: id as UserId,
      limit: toRateLimit(limit as Parameters<typeof toRateLimit>[0]),
    });
  }

  async #read(id: string): Promise<User> {
    return renderUserAccount(await getUserAccount(this.#context.pool, id as UserId));
  }
}

function toNewKey({ name, scopes, expiresAt, restRevision }: NewKeyBody): Omit<NewApiKey, 'userId'> {
  return {
    name,
    scopes: scopes.map(parseScope),
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    restRevision: restRevision as RestRevision | null,
  };
}
