import { UsageError } from '../../core/usage-error.ts';
import type { LimitChanges } from '../../domain/quotas/limit-store.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import { findRecord } from '../shared/find-record.ts';
import { RECORDS, type Wire } from '../shared/records.ts';
import { type AccessSide, type NewKeyBody, type NewUserBody, noSuchUser, type ScopedKind } from './access-side.ts';

const USERS = '/v2/account/users';
const path = (id: string, rest = '') => `${USERS}/${encodeURIComponent(id)}${rest}`;
const heirQuery = (heirId: string | null) => (heirId === null ? '' : `?handOverTo=${encodeURIComponent(heirId)}`);

/** Users and keys over the API. */
export class ServerSide implements AccessSide {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async listUsers(search = ''): Promise<Wire[]> {
    const users: Wire[] = [];
    const found = search === '' ? '' : `&search=${encodeURIComponent(search)}`;
    for (let after: string | null = ''; after !== null; ) {
      const page: Wire = await this.#client.call('GET', `${USERS}?limit=1000${found}${after && `&after=${after}`}`);
      users.push(...page.users);
      after = page.next;
    }
    return users;
  }

  async findUser(nameOrId: string): Promise<Wire> {
    const byName = (await this.listUsers(nameOrId)).find(({ name }) => name === nameOrId);
    const user = byName ?? (await this.readRemoval(nameOrId));
    if (user === null) throw new ApiRefusal(404, noSuchUser(nameOrId));
    return user;
  }

  async findOwnUser(): Promise<Wire> {
    const { id, ...account } = await this.#client.call<Wire>('GET', '/v2/account');
    return { ...account, userId: id, isOwn: true };
  }

  createUser(body: NewUserBody): Promise<Wire> {
    return this.#client.call('POST', USERS, body);
  }

  updateUser(id: string, changes: Wire): Promise<Wire> {
    return this.#client.call('PATCH', path(id), changes);
  }

  suspendUser(id: string, how: Wire): Promise<Wire> {
    return this.#client.call('POST', path(id, '/suspend'), how);
  }

  resumeUser(id: string): Promise<Wire> {
    return this.#client.call('POST', path(id, '/resume'));
  }

  planRemoval(id: string, heirId: string | null): Promise<Wire> {
    return this.#client.call('GET', path(id, `/removal${heirQuery(heirId)}`));
  }

  removeUser(id: string, heirId: string | null): Promise<Wire> {
    return this.#client.call('DELETE', path(id, heirQuery(heirId)));
  }

  readRemoval(id: string): Promise<Wire | null> {
    return this.#client.call<Wire>('GET', path(id)).catch((error: unknown) => {
      if (error instanceof ApiRefusal && error.status === 404) return null;
      throw error;
    });
  }

  async listKeys(user: Wire): Promise<Wire[]> {
    return (await this.#client.call<Wire>('GET', keysPath(user))).apiKeys;
  }

  async findRecordId({ isOwn }: Wire, kind: ScopedKind, idOrName: string): Promise<string> {
    if (isOwn) return (await findRecord(this.#client, RECORDS[kind], idOrName)).id;
    throw new UsageError(
      `'${idOrName}' is not an id, and only its owner can find ${RECORDS[kind].one} by name: use the id`,
    );
  }

  createKey(user: Wire, body: NewKeyBody): Promise<Wire> {
    return this.#client.call('POST', keysPath(user), body);
  }

  revokeKey(user: Wire, keyId: string): Promise<void> {
    return this.#client.call('DELETE', `${keysPath(user)}/${encodeURIComponent(keyId)}`);
  }

  readLimits(id: string | null): Promise<Wire> {
    return this.#client.call('GET', limitsPath(id));
  }

  updateLimits(id: string | null, changes: LimitChanges): Promise<void> {
    return this.#client.call('PATCH', limitsPath(id), changes);
  }

  readRateLimit(id: string): Promise<Wire> {
    return this.#client.call('GET', path(id, '/rate-limit'));
  }

  replaceRateLimit(id: string, limit: Wire): Promise<void> {
    return this.#client.call('PUT', path(id, '/rate-limit'), limit);
  }
}

/** Nobody needs to be an admin for their own keys. */
function keysPath({ userId, isOwn }: Wire): string {
  return isOwn ? '/v2/account/api-keys' : path(userId, '/api-keys');
}

function limitsPath(id: string | null): string {
  return id === null ? '/v2/account/installation/limits' : path(id, '/limits');
}
