import { type KeyId, newId, newSecret, type UserId } from '../../core/ids.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import { type Db, transaction } from '../../db/pool.ts';
import type { Context } from '../context.ts';
import { KEY_PREFIX } from './create-api-key.ts';
import { insertKey } from './key-store.ts';
import type { Scope } from './scopes.ts';
import { hashSecret } from './secret-hash.ts';
import { createUser, findUserByName } from './users.ts';

export const FIRST_USER = 'admin';
const FIRST_SCOPES: readonly Scope[] = [
  { kind: 'all' },
  { kind: 'exec', resourceId: null },
  { kind: 'area', area: 'files', resourceId: null, access: 'write' },
];

/**
 * Creates the user `admin` where no admin exists, with a key of the scopes `all`, `exec` and `files:write`: `adminKey`, or a new one, which is
 * returned to be shown once. An `adminKey` given at a later start becomes valid again even if it was revoked, and `admin` an
 * active admin even if it was suspended: the way back in for an operator without a key. It gains neither `exec` nor `files` by that. Throws an
 * error to print if `adminKey` cannot be sent in a header.
 */
export async function ensureFirstUser(
  context: Context,
  adminKey: string | null,
): Promise<{ userId: UserId | null; newSecret: string | null }> {
  if (adminKey !== null && !/^[\x21-\x7e]{1,256}$/.test(adminKey)) {
    throw new Error('PODYARD_ADMIN_KEY must be 1 to 256 visible ASCII characters without spaces');
  }
  const create = async (db: Db) => {
    const known = await findUserByName(db, FIRST_USER);
    if (adminKey === null && (known || (await hasAdmin(db)))) {
      return { userId: known?.id ?? null, newSecret: null, keyId: null };
    }
    const userId = known?.id ?? (await createUser(db, { name: FIRST_USER, email: null, role: 'ADMIN' })).id;
    if (adminKey !== null) {
      await makeActiveAdmin(db, userId);
      return { userId, newSecret: null, keyId: await upsertAdminKey(db, userId, adminKey) };
    }
    const secret = newSecret(KEY_PREFIX);
    return { userId, newSecret: secret, keyId: await upsertAdminKey(db, userId, secret) };
  };
  const outcome = await transaction(context.pool, create, { lock: ADVISORY_LOCKS.firstUser });
  if (outcome.keyId !== null) context.bus.publish('key', outcome.keyId);
  if (adminKey !== null && outcome.userId !== null) context.bus.publish('user', outcome.userId);
  return { userId: outcome.userId, newSecret: outcome.newSecret };
}

/** True if there is an admin, under whatever name. */
async function hasAdmin(db: Db): Promise<boolean> {
  return (await db.query("select from users where role = 'ADMIN' limit 1")).rowCount === 1;
}

/** Undoes a demotion, a suspension and a deletion that has not deleted the user yet. */
async function makeActiveAdmin(db: Db, userId: UserId): Promise<void> {
  await db.query(
    `update users set role = 'ADMIN', removing_at = null, removed_by = null, suspended_at = null, suspended_by = null,
       suspension_reason = null, suspended_workloads = null
     where id = $1 and (role <> 'ADMIN' or suspended_at is not null)`,
    [userId],
  );
}

async function upsertAdminKey(db: Db, userId: UserId, secret: string): Promise<KeyId> {
  const secretHash = hashSecret(secret);
  const known = await db.query<{ id: KeyId }>(
    `update api_keys set user_id = $1, expires_at = null, revoked_at = null,
       scopes = '{all}'::text[] || array(select x from unnest(scopes) x where x in ('exec', 'files:write') order by x)
     where secret_hash = $2 returning id`,
    [userId, secretHash],
  );
  if (known.rows[0]) return known.rows[0].id;
  const key = { id: newId<KeyId>(), userId, name: FIRST_USER, secretHash, scopes: FIRST_SCOPES };
  return (await insertKey(db, { ...key, expiresAt: null })).id;
}
