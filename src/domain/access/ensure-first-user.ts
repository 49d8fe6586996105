import { type KeyId, newId, newSecret, type UserId } from '../../core/ids.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import { type Db, transaction } from '../../db/pool.ts';
import type { Context } from '../context.ts';
import { KEY_PREFIX } from './create-api-key.ts';
import { insertKey } from './key-store.ts';
import { hashSecret } from './secret-hash.ts';
import { createUser, findUserByName } from './users.ts';

export const FIRST_USER = 'admin';

/**
 * Creates the user `admin` in an empty database, with a key of scope `all`: `adminKey`, or a new one, which is returned to
 * be shown once. An `adminKey` given at a later start becomes valid again even if it was revoked: the way back in for an
 * operator without a key. Throws an error to print if `adminKey` cannot be sent in a header.
 */
export async function ensureFirstUser(
  context: Context,
  adminKey: string | null,
): Promise<{ userId: UserId; newSecret: string | null }> {
  if (adminKey !== null && !/^[\x21-\x7e]{1,256}$/.test(adminKey)) {
    throw new Error('PODYARD_ADMIN_KEY must be 1 to 256 visible ASCII characters without spaces');
  }
  const outcome = await transaction(context.pool, async (db) => {
    await db.query('select pg_advisory_xact_lock($1)', [ADVISORY_LOCKS.firstUser]);
    const known = await findUserByName(db, FIRST_USER);
    const userId = known?.id ?? (await createUser(db, { name: FIRST_USER, email: null })).id;
    if (adminKey !== null) return { userId, newSecret: null, keyId: await upsertAdminKey(db, userId, adminKey) };
    if (known) return { userId, newSecret: null, keyId: null };
    const secret = newSecret(KEY_PREFIX);
    return { userId, newSecret: secret, keyId: await upsertAdminKey(db, userId, secret) };
  });
  if (outcome.keyId !== null) context.bus.publish('key', outcome.keyId);
  return { userId: outcome.userId, newSecret: outcome.newSecret };
}

async function upsertAdminKey(db: Db, userId: UserId, secret: string): Promise<KeyId> {
  const secretHash = hashSecret(secret);
  const known = await db.query<{ id: KeyId }>(
    `update api_keys set user_id = $1, scopes = '{all}', expires_at = null, revoked_at = null
     where secret_hash = $2 returning id`,
    [userId, secretHash],
  );
  if (known.rows[0]) return known.rows[0].id;
  const key = { id: newId<KeyId>(), userId, name: FIRST_USER, secretHash, scopes: [{ kind: 'all' } as const] };
  return (await insertKey(db, { ...key, expiresAt: null })).id;
}
