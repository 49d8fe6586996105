import type { KeyId, UserId } from '../../core/ids.ts';
import { isRestRevision, type RestRevision } from '../../core/rest-revisions.ts';
import type { Db } from '../../db/pool.ts';
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
}

type ApiKeyRow = Omit<ApiKey, 'scopes' | 'restRevision'> & { scopes: string[]; restRevision: string | null };

/** The columns of an ApiKeyRow. */
const COLUMNS = `id, user_id as "userId", name, scopes, created_at as "createdAt", expires_at as "expiresAt",
  rest_revision as "restRevision"`;

function toApiKey({ scopes, restRevision, ...row }: ApiKeyRow): ApiKey {
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
  },
): Promise<ApiKey> {
  const result = await db.query<ApiKeyRow>(
    `insert into api_keys (id, user_id, name, secret_hash, scopes, expires_at, rest_revision)
     values ($1, $2, $3, $4, $5, $6, $7) returning ${COLUMNS}`,
    [
      key.id,
      key.userId,
      key.name,
      key.secretHash,
      key.scopes.map(formatScope),
      key.expiresAt,
      key.restRevision ?? null,
    ],
  );
  return toApiKey(result.rows[0]!);
}

/** Returns the user's keys, oldest first: expired ones too, but not revoked ones, and none of workers and pods. */
export async function listKeys(db: Db, userId: UserId): Promise<ApiKey[]> {
  const result = await db.query<ApiKeyRow>(
    `select ${COLUMNS} from api_keys where user_id = $1 and workload is null and revoked_at is null order by created_at, id`,
    [userId],
  );
  return result.rows.map(toApiKey);
}

/** Finds a user's key that is not revoked, and locks it against revocation until the commit. */
export async function findKeyForShare(db: Db, userId: UserId, id: KeyId): Promise<ApiKey | undefined> {
  const result = await db.query<ApiKeyRow>(
    `select ${COLUMNS} from api_keys where user_id = $1 and id = $2 and revoked_at is null for share`,
    [userId, id],
  );
  return result.rows[0] && toApiKey(result.rows[0]);
}

export async function findKeyBySecretHash(db: Db, secretHash: Buffer): Promise<ApiKey | undefined> {
  const result = await db.query<ApiKeyRow>(
    `select ${COLUMNS} from api_keys where secret_hash = $1 and revoked_at is null`,
    [secretHash],
  );
  return result.rows[0] && toApiKey(result.rows[0]);
}

/** Returns the keys of `ids` that are not revoked, with their expiry in ms since 1970, infinite for none. Served by the primary key. */
export async function findLiveKeys(db: Db, ids: readonly KeyId[]): Promise<Map<KeyId, number>> {
  const result = await db.query<Pick<ApiKey, 'id' | 'expiresAt'>>({
    name: 'keys-live',
    text: 'select id, expires_at as "expiresAt" from api_keys where id = any($1::text[]) and revoked_at is null',
    values: [ids],
  });
  return new Map(result.rows.map(({ id, expiresAt }) => [id, expiresAt?.getTime() ?? Number.POSITIVE_INFINITY]));
}

/** False if the user has no such key, or it is already revoked. */
export async function updateKeyRevoked(db: Db, userId: UserId, id: KeyId): Promise<boolean> {
  const result = await db.query(
    'update api_keys set revoked_at = now() where user_id = $1 and id = $2 and workload is null and revoked_at is null',
    [userId, id],
  );
  return result.rowCount === 1;
}
