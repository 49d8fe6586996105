import { systemClock } from '../../core/clock.ts';
import type { KeyId, UserId } from '../../core/ids.ts';
import type { RestRevision } from '../../core/rest-revisions.ts';
import { createApiKey } from '../../domain/access/create-api-key.ts';
import { FIRST_USER } from '../../domain/access/ensure-first-user.ts';
import { listKeys } from '../../domain/access/key-store.ts';
import { refuseUserBesideProcesses } from '../../domain/access/refuse-shared-processes.ts';
import { revokeApiKey } from '../../domain/access/revoke-api-key.ts';
import { parseScope } from '../../domain/access/scopes.ts';
import { createUser, findUser, findUserByName, type SuspendedWorkloads } from '../../domain/access/users.ts';
import type { Context } from '../../domain/context.ts';
import { type LimitChanges, readSetLimits } from '../../domain/quotas/limit-store.ts';
import { updateLimits } from '../../domain/quotas/update-limits.ts';
import { findUserRateLimit, updateUserRateLimit } from '../../domain/rate-limits/user-rate-limit.ts';
import { resumeUser, suspendUser, updateUser } from '../../domain/users/change-user.ts';
import { getUserAccount, listUserPage, MAX_USERS } from '../../domain/users/list-users.ts';
import { planRemoval, requestRemoval } from '../../domain/users/request-removal.ts';
import { toApiKeyResponse } from '../../rest/account/api-key-wire.ts';
import { renderInstallationLimits } from '../../rest/limits/limit-wire.ts';
import { renderRateLimit, renderUserAccount, toRateLimit } from '../../rest/users/user-wire.ts';
import { findIdInDatabase } from '../server/find-in-database.ts';
import type { Wire } from '../shared/records.ts';
import { type AccessSide, type NewKeyBody, type NewUserBody, noSuchUser, type ScopedKind } from './access-side.ts';

const FIRST_KEY = { name: 'first key', scopes: ['all'], expiresAt: null, restRevision: null };

/** Users and keys in the database: access to the database needs no key. */
export class DatabaseSide implements AccessSide {
  readonly #context: Context;
  readonly #allowInsecureProcesses: boolean;

  constructor(context: Context, allowInsecureProcesses = false) {
    this.#context = context;
    this.#allowInsecureProcesses = allowInsecureProcesses;
  }

  async listUsers(): Promise<Wire[]> {
    const users: Wire[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const page = await listUserPage(this.#context.pool, { limit: MAX_USERS, ...(after && { after }) });
      users.push(...page.users.map(renderUserAccount));
      after = page.next;
    }
    return users;
  }

  async findUser(nameOrId: string): Promise<Wire> {
    const { pool } = this.#context;
    const user = (await findUserByName(pool, nameOrId)) ?? (await findUser(pool, nameOrId as UserId));
    if (!user) throw new Error(noSuchUser(nameOrId));
    return this.#read(user.id);
  }

  findOwnUser(): Promise<Wire> {
    return this.findUser(FIRST_USER);
  }

  async createUser({ key, ...input }: NewUserBody): Promise<Wire> {
    const { pool } = this.#context;
    if (!this.#allowInsecureProcesses) await refuseUserBesideProcesses(pool);
    const { id } = await createUser(pool, input);
    const made = key === null ? null : await this.createKey({ userId: id }, { ...FIRST_KEY, ...key });
    return { ...(await this.#read(id)), key: made };
  }

  async updateUser(id: string, changes: Wire): Promise<Wire> {
    await updateUser(this.#context, null, id as UserId, changes);
    return this.#read(id);
  }

  async suspendUser(id: string, { workloads, reason }: Wire): Promise<Wire> {
    await suspendUser(this.#context, null, id as UserId, { workloads: workloads as SuspendedWorkloads, reason });
    return this.#read(id);
  }

  async resumeUser(id: string): Promise<Wire> {
    await resumeUser(this.#context, null, id as UserId);
    return this.#read(id);
  }

  async planRemoval(id: string, heirId: string | null): Promise<Wire> {
    return planRemoval(this.#context.pool, id as UserId, heirId as UserId | null);
  }

  async removeUser(id: string, heirId: string | null): Promise<Wire> {
    await requestRemoval(this.#context, null, id as UserId, heirId as UserId | null);
    return this.#read(id);
  }

  async readRemoval(id: string): Promise<Wire | null> {
    return (await findUser(this.#context.pool, id as UserId)) ? this.#read(id) : null;
  }

  async listKeys({ userId }: Wire): Promise<Wire[]> {
    return (await listKeys(this.#context.pool, userId)).map(toApiKeyResponse);
  }

  findRecordId({ userId }: Wire, kind: ScopedKind, idOrName: string): Promise<string> {
    return findIdInDatabase(this.#context.pool, kind === 'volumes' ? 'network_volumes' : kind, idOrName, userId);
  }

  async createKey({ userId }: Wire, { name, scopes, expiresAt, restRevision }: NewKeyBody): Promise<Wire> {
    const { key, secret } = await createApiKey(
      { ...this.#context, clock: systemClock },
      {
        userId,
        name,
        scopes: scopes.map(parseScope),
        expiresAt: expiresAt === null ? null : new Date(expiresAt),
        restRevision: restRevision as RestRevision | null,
      },
    );
    return { ...toApiKeyResponse(key), secret };
  }

  revokeKey({ userId }: Wire, keyId: string): Promise<void> {
    return revokeApiKey(this.#context, { userId, keyId: keyId as KeyId });
  }

  async readLimits(id: string | null): Promise<Wire> {
    if (id !== null) return this.#read(id);
    return renderInstallationLimits((await readSetLimits(this.#context.pool, [])).installation);
  }

  async updateLimits(id: string | null, changes: LimitChanges): Promise<void> {
    await updateLimits(this.#context, id as UserId | null, changes);
  }

  async readRateLimit(id: string): Promise<Wire> {
    return renderRateLimit((await findUserRateLimit(this.#context.pool, id as UserId)) ?? {});
  }

  async replaceRateLimit(id: string, limit: Wire): Promise<void> {
    await updateUserRateLimit(
      this.#context.pool,
      id as UserId,
      toRateLimit(limit as Parameters<typeof toRateLimit>[0]),
    );
  }

  async #read(id: string): Promise<Wire> {
    return renderUserAccount(await getUserAccount(this.#context.pool, id as UserId));
  }
}
