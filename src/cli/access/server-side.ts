import { UsageError } from '../../core/usage-error.ts';
import type { LimitChanges } from '../../domain/quotas/limit-store.ts';
import { findRecord } from '../records/find-record.ts';
import { type Findable, type Named, RECORDS } from '../records/kinds.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
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

const removalQuery = (newOwnerId: string | null) => (newOwnerId === null ? {} : { handOverTo: newOwnerId });

/** Users and keys over the API. */
export class ServerSide implements AccessSide {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async listUsers(search = ''): Promise<User[]> {
    const users: User[] = [];
    for (let after: string | null = ''; after !== null; ) {
      const query = { limit: 1000, ...(search && { search }), ...(after && { after }) };
      const page: Schemas['UserAccountList'] = await this.#client.call('get', '/v2/account/users', { query });
      users.push(...page.users);
      after = page.next;
    }
    return users;
  }

  async findUser(nameOrId: string): Promise<User> {
    const byName = (await this.listUsers(nameOrId)).find(({ name }) => name === nameOrId);
    const user = byName ?? (await this.readRemoval(nameOrId)) ?? (await this.#findTeam(nameOrId));
    if (user === null) throw new ApiRefusal(404, noSuchUser(nameOrId));
    return user;
  }

  /** Limits and suspensions of a team are those of its account. */
  async #findTeam(name: string): Promise<User | null> {
    const { teams } = await this.#client.call('get', '/v2/teams', { query: { all: true } });
    const team = teams.find((one) => one.name === name);
    return team === undefined ? null : this.readRemoval(team.id);
  }

  async findOwnUser(): Promise<KeyOwner> {
    const { id, ...account } = await this.#client.call('get', '/v2/account');
    return { ...account, userId: id, isOwn: true };
  }

  createUser(body: NewUserBody): Promise<Schemas['CreatedUser']> {
    return this.#client.call('post', '/v2/account/users', { body });
  }

  updateUser(id: string, body: Schemas['UpdateUserRequest']): Promise<User> {
    return this.#client.call('patch', '/v2/account/users/{id}', { path: { id }, body });
  }

  suspendUser(id: string, body: Schemas['SuspendUserRequest']): Promise<User> {
    return this.#client.call('post', '/v2/account/users/{id}/suspend', { path: { id }, body });
  }

  resumeUser(id: string): Promise<User> {
    return this.#client.call('post', '/v2/account/users/{id}/resume', { path: { id } });
  }

  inviteUser(id: string, expiresInHours: number): Promise<Schemas['CreatedInvitation']> {
    return this.#client.call('post', '/v2/account/users/{id}/invitation', { path: { id }, body: { expiresInHours } });
  }

  async revokeInvitation(id: string): Promise<void> {
    await this.#client.call('delete', '/v2/account/users/{id}/invitation', { path: { id } });
  }

  async removePassword(id: string): Promise<void> {
    await this.#client.call('delete', '/v2/account/users/{id}/password', { path: { id } });
  }

  planRemoval(id: string, newOwnerId: string | null): Promise<Schemas['RemovalPlan']> {
    const request = { path: { id }, query: removalQuery(newOwnerId) };
    return this.#client.call('get', '/v2/account/users/{id}/removal', request);
  }

  removeUser(id: string, newOwnerId: string | null): Promise<User> {
    return this.#client.call('delete', '/v2/account/users/{id}', { path: { id }, query: removalQuery(newOwnerId) });
  }

  readRemoval(id: string): Promise<User | null> {
    return this.#client.call('get', '/v2/account/users/{id}', { path: { id } }).catch((error: unknown) => {
      if (error instanceof ApiRefusal && error.status === 404) return null;
      throw error;
    });
  }

  async listKeys({ userId: id, isOwn }: KeyOwner): Promise<Schemas['ApiKey'][]> {
    const { apiKeys } = isOwn
      ? await this.#client.call('get', '/v2/account/api-keys')
      : await this.#client.call('get', '/v2/account/users/{id}/api-keys', { path: { id } });
    return apiKeys;
  }

  async findRecordId({ isOwn }: KeyOwner, kind: ScopedKind, idOrName: string): Promise<string> {
    const found: Findable<Named> = RECORDS[kind];
    if (isOwn) return (await findRecord(this.#client, found, idOrName)).id;
    throw new UsageError(`'${idOrName}' is not an id, and only its owner can find ${found.one} by name: use the id`);
  }

  createKey({ userId: id, isOwn }: KeyOwner, body: NewKeyBody): Promise<Schemas['CreatedApiKey']> {
    if (isOwn) return this.#client.call('post', '/v2/account/api-keys', { body });
    return this.#client.call('post', '/v2/account/users/{id}/api-keys', { path: { id }, body });
  }

  async revokeKey({ userId: id, isOwn }: KeyOwner, keyId: string): Promise<void> {
    if (isOwn) await this.#client.call('delete', '/v2/account/api-keys/{id}', { path: { id: keyId } });
    else await this.#client.call('delete', '/v2/account/users/{id}/api-keys/{keyId}', { path: { id, keyId } });
  }

  readLimits(id: string | null): Promise<Schemas['UserLimits'] | Schemas['InstallationLimits']> {
    if (id === null) return this.#client.call('get', '/v2/account/installation/limits');
    return this.#client.call('get', '/v2/account/users/{id}/limits', { path: { id } });
  }

  async updateLimits(id: string | null, body: LimitChanges): Promise<void> {
    if (id === null) await this.#client.call('patch', '/v2/account/installation/limits', { body });
    else await this.#client.call('patch', '/v2/account/users/{id}/limits', { path: { id }, body });
  }

  readRateLimit(id: string): Promise<Schemas['UserRateLimit']> {
    return this.#client.call('get', '/v2/account/users/{id}/rate-limit', { path: { id } });
  }

  async replaceRateLimit(id: string, body: Schemas['UserRateLimit']): Promise<void> {
    await this.#client.call('put', '/v2/account/users/{id}/rate-limit', { path: { id }, body });
  }
}

/** Returns the id of a user, by id or name; the text itself, for the server to judge, if the key may not list users. */
export async function userIdOf(client: ApiClient, nameOrId: string): Promise<string> {
  return new ServerSide(client).findUser(nameOrId).then(
    ({ userId }) => userId,
    (error: unknown) => {
      if (error instanceof ApiRefusal && error.status === 403) return nameOrId;
      throw error;
    },
  );
}
