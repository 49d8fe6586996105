import type { KeyId, UserId } from '../../core/ids.ts';
import { isRestRevision, type RestRevision } from '../../core/rest-revisions.ts';
import { type Db, foundRow } from '../../db/pool.ts';
import { formatScope, parseScope, type Scope } from './scopes.ts';

/** A key as its owner sees it. The secret is not part of it: it is shown once, when the key is created. */
export interface ApiKey {
  id: KeyId;
  userId: UserId;
  name: string;
  scopes: Scope[];
  createdAt: Date;
  /** Null: never. */
  expiresAt: Date | null;
  /** The revision of plain `/v2` for it. Null: the server's setting. */
  restRevision: RestRevision | null;
  /** To about a minute. Null: never, or before version 0.2 recorded it. */
  lastUsedAt: Date | null;
  /** The addresses and networks that it may be used from. None: from everywhere. */
  allowedNetworks: string[];
  /** It is refused until it is enabled again. */
  isDisabled: boolean;
  /** The user and key that made it. Null: the operator's tools, or a version before 0.2. */
  createdBy: KeyMaker | null;
}

interface KeyMaker {
  userId: UserId;
  keyId: KeyId | null;
  /** Null: deleted meanwhile. */
  userName: string | null;
  keyName: string | null;
}

/** A key as a look-up by its secret finds it. */
export interface FoundKey extends ApiKey {
  /** Its user is suspended, or being deleted: the key is refused. */
  isSuspended: boolean;
  isRemoving: boolean;
}

type Row<Key extends ApiKey> = Omit<Key, 'scopes' | 'restRevision'> & { scopes: string[]; restRevision: string | null };
type ApiKeyRow = Row<ApiKey>;

/** The columns of an ApiKeyRow, of the table `k`. */
const COLUMNS = `k.id, k.user_id as "userId", k.name, k.scopes, k.created_at as "createdAt", k.expires_at as "expiresAt",
  k.rest_revision as "restRevision", k.last_used_at as "lastUsedAt",
  k.allowed_networks as "allowedNetworks", k.disabled_at is not null as "isDisabled"`;
/** The same with its maker, for people. */
const COLUMNS_WITH_MAKER = `${COLUMNS}, case when k.created_by is not null then json_build_object(
    'userId', k.created_by, 'keyId', k.created_by_key,
    'userName', (select name from users m where m.id = k.created_by),
    'keyName', (select name from api_keys m where m.id = k.created_by_key)) end as "createdBy"`;

function toApiKey<Key extends ApiKey>({ scopes, restRevision, ...row }: Row<Key>) {
  const isKnown = restRevision !== null && isRestRevision(restRevision); // a later version may have stored a later one
  return { ...row, scopes: scopes.map(parseScope), restRevision: isKnown ? restRevision : null };
}

export async function insertKey(
  db: Db,
  key: {
    id: KeyId;
    userId: UserId;
    name: string;
    secretHash: Buffer;
    scopes: readonly Scope[];
    expiresAt: Date | null;
    restRevision?: RestRevision | null;
    allowedNetworks?: readonly string[];
    createdBy?: { userId: UserId; keyId: KeyId | null } | null;
  },
): Promise<ApiKey> {
  const result = await db.query<ApiKeyRow>(
    `insert into api_keys as k (id, user_id, name, secret_hash, scopes, expires_at, rest_revision, created_by, created_by_key,
       allowed_networks)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) returning ${COLUMNS_WITH_MAKER}`,
    [
      key.id,
      key.userId,
      key.name,
      key.secretHash,
      key.scopes.map(formatScope),
      key.expiresAt,
      key.restRevision ?? null,
      key.createdBy?.userId ?? null,
      key.createdBy?.keyId ?? null,
      key.allowedNetworks ?? [],
    ],
  );
  return toApiKey(result.rows[0]!);
}

/** Returns the user's keys, oldest first: expired ones too, but not revoked ones, and none of workers and pods. */
export async function listKeys(db: Db, userId: UserId): Promise<ApiKey[]> {
  const result = await db.query<ApiKeyRow>(
    `select ${COLUMNS_WITH_MAKER} from api_keys k
     where user_id = $1 and workload is null and revoked_at is null order by created_at, id`,
    [userId],
  );
  return result.rows.map(toApiKey);
}

/** Finds a user's key that is not revoked, and locks it against revocation until the commit. */
export async function findKeyForShare(db: Db, userId: UserId, id: KeyId): Promise<ApiKey | undefined> {
  const result = await db.query<ApiKeyRow>(
    `select ${COLUMNS}, null as "createdBy" from api_keys k
     where user_id = $1 and id = $2 and revoked_at is null and disabled_at is null for share`,
    [userId, id],
  );
  return result.rows[0] && toApiKey(result.rows[0]);
}

/** Finds a key that is neither revoked nor disabled, also one of a suspended user. */
export async function findKeyBySecretHash(db: Db, secretHash: Buffer): Promise<FoundKey | undefined> {
  const result = await db.query<Row<FoundKey>>({
    name: 'key-by-secret',
    text: `select ${COLUMNS}, null as "createdBy", u.suspended_at is not null as "isSuspended",
             u.removing_at is not null as "isRemoving"
           from api_keys k join users u on u.id = k.user_id where k.secret_hash = $1 and k.revoked_at is null and k.disabled_at is null`,
    values: [secretHash],
  });
  return result.rows[0] && toApiKey<FoundKey>(result.rows[0]);
}

/** SQL: true if the key `id` (an expression) may be used now. */
export const isLiveKey = (id: string) => `exists (select from api_keys k join users u on u.id = k.user_id
  where k.id = ${id} and k.revoked_at is null and k.disabled_at is null and (k.expires_at is null or k.expires_at > now())
    and u.suspended_at is null)`;

/**
 * Returns the keys of `ids` that are neither revoked nor disabled nor a suspended user's, with their expiry in ms since 1970, infinite for
 * none. Served by the primary keys.
 */
export async function findLiveKeys(db: Db, ids: readonly KeyId[]): Promise<Map<KeyId, number>> {
  const result = await db.query<Pick<ApiKey, 'id' | 'expiresAt'>>({
    name: 'keys-live',
    text: `select k.id, k.expires_at as "expiresAt" from api_keys k join users u on u.id = k.user_id
           where k.id = any($1::text[]) and k.revoked_at is null and k.disabled_at is null and u.suspended_at is null`,
    values: [ids],
  });
  return new Map(result.rows.map(({ id, expiresAt }) => [id, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY]));
}

/**
 * Records that keys were used now, unless that was recorded within the last minute: whatever the number of requests and
 * processes, a key is written once a minute. Skips rows that another process is writing.
 */
export async function updateKeysUsed(db: Db, ids: readonly KeyId[]): Promise<void> {
  await db.query({
    name: 'keys-used',
    text: `update api_keys set last_used_at = now() where id in (
             select id from api_keys
             where id = any($1::text[]) and (last_used_at is null or last_used_at < now() - interval '1 minute')
             for no key update skip locked)`,
    values: [ids],
  });
}

/** Locks a user's key for a change. Throws `notFound` if there is none, it was revoked, or it is of a worker or pod. */
export async function getKeyForUpdate(db: Db, userId: UserId, id: KeyId): Promise<ApiKey> {
  return toApiKey(
    foundRow(
      await db.query<ApiKeyRow>(
        `select ${COLUMNS_WITH_MAKER} from api_keys k
     where user_id = $1 and id = $2 and workload is null and revoked_at is null for update`,
        [userId, id],
      ),
      'API key',
    ),
  );
}

export async function updateKey(db: Db, key: ApiKey): Promise<void> {
  await db.query(
    `update api_keys set name = $2, scopes = $3, expires_at = $4, allowed_networks = $5,
       disabled_at = case when $6 then coalesce(disabled_at, now()) end
     where id = $1`,
    [key.id, key.name, key.scopes.map(formatScope), key.expiresAt, key.allowedNetworks, key.isDisabled],
  );
}

/** False if the user has no such key, or it is already revoked. */
export async function updateKeyRevoked(db: Db, userId: UserId, id: KeyId): Promise<boolean> {
  const result = await db.query(
    'update api_keys set revoked_at = now() where user_id = $1 and id = $2 and workload is null and revoked_at is null',
    [userId, id],
  );
  return result.rowCount === 1;
}
