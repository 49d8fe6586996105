import { Failure } from '../../core/errors.ts';
import type { SecretId, UserId } from '../../core/ids.ts';
import { type Db, foundRow, isUniqueViolation, type RowLock } from '../../db/pool.ts';
import type { Secret } from './secret.ts';

/** The columns of a Secret. The sealed value is read separately, when a container starts. */
const COLUMNS = `id, user_id as "userId", name, description, created_at as "createdAt", updated_at as "updatedAt"`;

/** Returns the user's secrets, oldest first. */
export async function listSecretRows(db: Db, userId: UserId): Promise<Secret[]> {
  const result = await db.query<Secret>(`select ${COLUMNS} from secrets where user_id = $1 order by created_at, id`, [
    userId,
  ]);
  return result.rows;
}

/** Throws `notFound` if the user has no such secret. */
export async function getSecretRow(db: Db, userId: UserId, id: SecretId, lock: RowLock = ''): Promise<Secret> {
  return foundRow(
    await db.query<Secret>(`select ${COLUMNS} from secrets where id = $1 and user_id = $2 ${lock}`, [id, userId]),
    'Secret',
  );
}

/** `value` is sealed. Returns the secret with its times, which the database sets. Throws `conflict` if the user's name is taken. */
export async function insertSecretRow(
  db: Db,
  secret: Pick<Secret, 'id' | 'userId' | 'name' | 'description'> & { value: Buffer },
): Promise<Secret> {
  const { id, userId, name, description, value } = secret;
  const result = await db
    .query<Secret>(
      `insert into secrets (id, user_id, name, description, value) values ($1, $2, $3, $4, $5) returning ${COLUMNS}`,
      [id, userId, name, description, value],
    )
    .catch((cause: unknown) => {
      if (!isUniqueViolation(cause)) throw cause;
      throw new Failure('conflict', `name: there is already a secret named '${name}'`, { cause });
    });
  return result.rows[0]!;
}

/** `value` is sealed; null keeps the stored one. */
export async function updateSecretRow(
  db: Db,
  secret: Pick<Secret, 'id' | 'userId' | 'description'> & { value: Buffer | null },
): Promise<Secret> {
  const { id, userId, description, value } = secret;
  const result = await db.query<Secret>(
    `update secrets set description = $3, value = coalesce($4, value), updated_at = now()
     where id = $1 and user_id = $2 returning ${COLUMNS}`,
    [id, userId, description, value],
  );
  return result.rows[0]!;
}

export async function deleteSecretRow(db: Db, userId: UserId, id: SecretId): Promise<void> {
  await db.query('delete from secrets where id = $1 and user_id = $2', [id, userId]);
}

/** Returns the sealed values of the named secrets that exist. Served by the unique index. */
export async function listSealedValues(
  db: Db,
  userId: UserId,
  names: readonly string[],
): Promise<{ id: SecretId; name: string; value: Buffer }[]> {
  const result = await db.query<{ id: SecretId; name: string; value: Buffer }>({
    name: 'secret-values',
    text: 'select id, name, value from secrets where user_id = $1 and name = any($2::text[])',
    values: [userId, names],
  });
  return result.rows;
}
