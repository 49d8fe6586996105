import type { RegistryId, UserId } from '../../core/ids.ts';
import { type Db, foundRow, type RowLock } from '../../db/pool.ts';
import type { StoredCredentials } from './sealed-credentials.ts';

/** Credentials of a registry, as their owner sees them: user name and password are write-only. */
export interface Registry {
  id: RegistryId;
  name: string;
}

/** Returns the user's registries, oldest first. */
export async function listRegistryRows(db: Db, userId: UserId): Promise<Registry[]> {
  const result = await db.query<Registry>(
    'select id, name from registries where user_id = $1 order by created_at, id',
    [userId],
  );
  return result.rows;
}

/** Throws `notFound` if the user has no such registry. */
export async function getRegistryRow(db: Db, userId: UserId, id: RegistryId, lock: RowLock = ''): Promise<Registry> {
  return foundRow(
    await db.query<Registry>(`select id, name from registries where id = $1 and user_id = $2 ${lock}`, [id, userId]),
    'Registry',
  );
}

export async function insertRegistryRow(
  db: Db,
  registry: Registry & StoredCredentials & { userId: UserId },
): Promise<void> {
  await db.query('insert into registries (id, user_id, name, username, password) values ($1, $2, $3, $4, $5)', [
    registry.id,
    registry.userId,
    registry.name,
    registry.username,
    registry.password,
  ]);
}

export async function updateCredentials(
  db: Db,
  userId: UserId,
  id: RegistryId,
  { username, password }: StoredCredentials,
): Promise<void> {
  await db.query('update registries set username = $3, password = $4 where id = $1 and user_id = $2', [
    id,
    userId,
    username,
    password,
  ]);
}

/** Templates that reference it get null (by the foreign key). */
export async function deleteRegistryRow(db: Db, userId: UserId, id: RegistryId): Promise<void> {
  await db.query('delete from registries where id = $1 and user_id = $2', [id, userId]);
}

export async function findCredentials(
  db: Db,
  userId: UserId,
  id: RegistryId,
  lock: RowLock = '',
): Promise<StoredCredentials | undefined> {
  const result = await db.query<StoredCredentials>(
    `select username, password from registries where id = $1 and user_id = $2 ${lock}`,
    [id, userId],
  );
  return result.rows[0];
}

/** Returns what uses it, for messages (`endpoint 'hello'`). */
export async function findRegistryUse(db: Db, userId: UserId, id: RegistryId): Promise<string | undefined> {
  const result = await db.query<{ use: string }>(
    `select use from (
       select format('endpoint ''%s''', name) as use, created_at, id from endpoints where user_id = $1 and registry_id = $2
       union all
       select format('pod ''%s''', name), created_at, id from pods
       where user_id = $1 and registry_id = $2 and wanted <> 'TERMINATE'
     ) as uses order by created_at, id limit 1`,
    [userId, id],
  );
  return result.rows[0]?.use;
}
