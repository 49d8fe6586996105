import { Failure } from '../../core/errors.ts';
import type { KeyId, UserId } from '../../core/ids.ts';
import { isRestRevision, type RestRevision } from '../../core/rest-revisions.ts';
import type { Db } from '../../db/pool.ts';
import type { UseId } from './actor.ts';
import { OPERATOR_ACTIONS } from './roles.ts';
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
  /** What plain `/v2` speaks to it. Null: what the server is set to. */
  restRevision: RestRevision | null;
  /** To about a minute. Null: never, or before version 0.2 recorded it. */
  lastUsedAt: Date | null;
  /** Who made it, with which key. Null: somebody with the database, or a version before 0.2. */
  createdBy: KeyMaker | null;
}

export interface KeyMaker {
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
  k.rest_revision as "restRevision", k.last_used_at as "lastUsedAt"`;
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
    createdBy?: { userId: UserId; keyId: KeyId } | null;
  },
): Promise<ApiKey> {
  const result = await db.query<ApiKeyRow>(
    `insert into api_keys as k (id, user_id, name, secret_hash, scopes, expires_at, rest_revision, created_by, created_by_key)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning ${COLUMNS_WITH_MAKER}`,
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
     where user_id = $1 and id = $2 and revoked_at is null for share`,
    [userId, id],
  );
  return result.rows[0] && toApiKey(result.rows[0]);
}

/** Returns the key of a request. Throws `unauthorized` if it was revoked meanwhile. */
export async function getOwnKey(db: Db, { userId, keyId }: { userId: UserId; keyId: KeyId }): Promise<ApiKey> {
  const key = (await listKeys(db, userId)).find(({ id }) => id === keyId);
  if (!key) throw new Failure('unauthorized', 'invalid bearer token');
  return key;
}

/** Finds a key that is not revoked, also one of a suspended user. */
export async function findKeyBySecretHash(db: Db, secretHash: Buffer): Promise<FoundKey | undefined> {
  const result = await db.query<Row<FoundKey>>({
    name: 'key-by-secret',
    text: `select ${COLUMNS}, null as "createdBy", u.suspended_at is not null as "isSuspended",
             u.removing_at is not null as "isRemoving"
           from api_keys k join users u on u.id = k.user_id where k.secret_hash = $1 and k.revoked_at is null`,
    values: [secretHash],
  });
  return result.rows[0] && toApiKey<FoundKey>(result.rows[0]);
}

/**
 * Returns those of `uses` whose key is neither revoked nor a suspended user's, and whose person still acts for the account as they
 * did, with the key's expiry in ms since 1970, infinite for none. Served by the primary keys.
 */
export async function findLiveUses(db: Db, uses: readonly UseId[]): Promise<Map<UseId, number>> {
  const parts = uses.map((use) => [use, ...use.split(/[@:]/)] as [UseId, KeyId, ...string[]]);
  const expiries = await findLiveKeys(db, [...new Set(parts.map(([, keyId]) => keyId))]);
  const shared = parts.filter(([, , accountId]) => accountId !== undefined);
  const acting = shared.length === 0 ? new Set() : await findActing(db, shared);
  return new Map(
    parts.flatMap(([use, keyId, accountId]) => {
      const expiresMs = accountId === undefined || acting.has(use) ? expiries.get(keyId) : undefined;
      return expiresMs === undefined ? [] : [[use, expiresMs] as const];
    }),
  );
}

/** Returns the uses of those who still have the role that they act with. Served by the primary keys. */
async function findActing(db: Db, uses: readonly string[][]): Promise<Set<string>> {
  const { rows } = await db.query<{ use: string }>({
    name: 'uses-live',
    text: `select w.use from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as w (use, account_id, person_id, role)
           where exists (select from team_members m join users t on t.id = m.team_id
                         where m.team_id = w.account_id and m.user_id = w.person_id and m.role = w.role and t.suspended_at is null)
              or w.role = 'AUDITOR' and exists (select from users p where p.id = w.person_id and p.role = any($5::text[]))`,
    values: [...[0, 2, 3, 4].map((at) => uses.map((parts) => parts[at])), OPERATOR_ACTIONS.readAccounts],
  });
  return new Set(rows.map(({ use }) => use));
}

async function findLiveKeys(db: Db, ids: readonly KeyId[]): Promise<Map<KeyId, number>> {
  const result = await db.query<Pick<ApiKey, 'id' | 'expiresAt'>>({
    name: 'keys-live',
    text: `select k.id, k.expires_at as "expiresAt" from api_keys k join users u on u.id = k.user_id
           where k.id = any($1::text[]) and k.revoked_at is null and u.suspended_at is null`,
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

/** False if the user has no such key, or it is already revoked. */
export async function updateKeyRevoked(db: Db, userId: UserId, id: KeyId): Promise<boolean> {
  const result = await db.query(
    'update api_keys set revoked_at = now() where user_id = $1 and id = $2 and workload is null and revoked_at is null',
    [userId, id],
  );
  return result.rowCount === 1;
}
