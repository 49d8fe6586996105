import type { KeyId, S3KeyId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { formatScope, parseScope } from '../access/scopes.ts';
import type { S3Key } from './s3-key.ts';

type Row<Key extends S3Key> = Omit<Key, 'scopes'> & { scopes: string[] };

/** A key as a request finds it, with its sealed secret. */
export interface FoundS3Key extends S3Key {
  secret: Buffer;
  /** Its user is suspended, or being deleted: the key is refused. */
  isSuspended: boolean;
}

const COLUMNS = `k.id, k.user_id as "userId", k.name, k.scopes, k.created_at as "createdAt", k.expires_at as "expiresAt",
  k.last_used_at as "lastUsedAt"`;

const toKey = <Key extends S3Key>({ scopes, ...row }: Row<Key>) => ({ ...row, scopes: scopes.map(parseScope) });

/** `secret` is sealed. */
export async function insertS3Key(
  db: Db,
  key: Pick<S3Key, 'id' | 'userId' | 'name' | 'scopes' | 'expiresAt'> & { secret: Buffer; createdByKey: KeyId | null },
): Promise<S3Key> {
  const result = await db.query<Row<S3Key>>(
    `insert into s3_keys as k (id, user_id, name, secret, scopes, expires_at, created_by_key)
     values ($1, $2, $3, $4, $5, $6, $7) returning ${COLUMNS}`,
    [key.id, key.userId, key.name, key.secret, key.scopes.map(formatScope), key.expiresAt, key.createdByKey],
  );
  return toKey(result.rows[0]!);
}

/** Returns the user's keys, oldest first, expired ones too. */
export async function listS3KeyRows(db: Db, userId: UserId): Promise<S3Key[]> {
  const result = await db.query<Row<S3Key>>(
    `select ${COLUMNS} from s3_keys k where user_id = $1 order by created_at, id`,
    [userId],
  );
  return result.rows.map(toKey);
}

/** Finds the key of a request, also one that has expired. */
export async function findS3Key(db: Db, id: string): Promise<FoundS3Key | undefined> {
  const result = await db.query<Row<FoundS3Key>>({
    name: 's3-key-by-id',
    text: `select ${COLUMNS}, k.secret, u.suspended_at is not null as "isSuspended"
           from s3_keys k join users u on u.id = k.user_id where k.id = $1`,
    values: [id],
  });
  return result.rows[0] && (toKey(result.rows[0]) as FoundS3Key);
}

/** Records that a key was used now, unless that was recorded within the last minute. */
export async function updateS3KeyUsed(db: Db, id: S3KeyId): Promise<void> {
  await db.query(
    `update s3_keys set last_used_at = now()
     where id = $1 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
    [id],
  );
}

/** False if the user has no such key. */
export async function deleteS3KeyRow(db: Db, userId: UserId, id: S3KeyId): Promise<boolean> {
  const result = await db.query('delete from s3_keys where user_id = $1 and id = $2', [userId, id]);
  return result.rowCount === 1;
}
