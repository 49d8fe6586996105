import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Context } from '../context.ts';
import type { Actor } from './actor.ts';

const MAX_LENGTH = 16_384;

/** Returns a user's SSH public keys, one per line; empty if there are none. */
export async function readPublicKeys(db: Db, userId: UserId): Promise<string> {
  return (await listPublicKeys(db, [userId])).get(userId) ?? '';
}

/** Returns the SSH public keys of those of these users that exist. */
export async function listPublicKeys(db: Db, userIds: readonly UserId[]): Promise<Map<UserId, string>> {
  const { rows } = await db.query<{ id: UserId; publicKeys: string }>({
    name: 'public-keys',
    text: 'select id, public_keys as "publicKeys" from users where id = any($1::text[])',
    values: [userIds],
  });
  return new Map(rows.map(({ id, publicKeys }) => [id, publicKeys]));
}

/** Replaces all of a user's SSH public keys. Throws `badRequest` if the text is too long. */
export async function updatePublicKeys(
  { pool }: Pick<Context, 'pool'>,
  actor: Actor,
  publicKeys: string,
): Promise<void> {
  if (publicKeys.length > MAX_LENGTH) {
    throw new Failure('badRequest', `pubKey: must have at most ${MAX_LENGTH} characters in total`);
  }
  await pool.query('update users set public_keys = $2 where id = $1', [actor.userId, publicKeys]);
}
