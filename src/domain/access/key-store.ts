import type { KeyId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { formatScope, parseScope, type Scope } from './scopes.ts';

/** A key as its owner sees it. The secret is not part of it: it is shown once, when the key is made. */
export interface ApiKey {
  id: KeyId;
  userId: UserId;
  name: string;
  scopes: Scope[];
  createdAt: Date;
  /** Null: never. */
  expiresAt: Date | null;
}

interface ApiKeyRow {
  id: KeyId;
  user_id: UserId;
  name: string;
  scopes: string[];
  created_at: Date;
  expires_at: Date | null;
}

const COLUMNS = 'id, user_id, name, scopes, created_at, expires_at';

function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    scopes: row.scopes.map(parseScope),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
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
  },
): Promise<ApiKey> {
  const result = await db.query<ApiKeyRow>(
    `insert into api_keys (id, user_id, name, secret_hash, scopes, expires_at)
     values ($1, $2, $3, $4, $5, $6) returning ${COLUMNS}`,
    [key.id, key.userId, key.name, key.secretHash, key.scopes.map(formatScope), key.expiresAt],
  );
  return toApiKey(result.rows[0]!);
}

/** Keys of a user that are not revoked, oldest first; expired ones are among them. */
export async function listKeys(db: Db, userId: UserId): Promise<ApiKey[]> {
  const result = await db.query<ApiKeyRow>(
    `select ${COLUMNS} from api_keys where user_id = $1 and revoked_at is null order by created_at, id`,
    [userId],
  );
  return result.rows.map(toApiKey);
}

/** A user's key that is not revoked, locked against revocation until the transaction ends. */
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

/** False when there is no such key of this user, or it is revoked already. */
export async function updateKeyRevoked(db: Db, userId: UserId, id: KeyId): Promise<boolean> {
  const result = await db.query(
    'update api_keys set revoked_at = now() where user_id = $1 and id = $2 and revoked_at is null',
    [userId, id],
  );
  return result.rowCount === 1;
}
