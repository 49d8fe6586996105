import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Context } from '../context.ts';
import type { Actor } from './actor.ts';

const MAX_LENGTH = 16_384;

/** Returns a user's SSH public keys, one per line; empty if there are none. */
export async function readPublicKeys(db: Db, userId: UserId): Promise<string> {
  const result = await db.query<{ publicKeys: string }>('select public_keys as "publicKeys" from users where id = $1', [
    userId,
  ]);
  return result.rows[0]?.publicKeys ?? '';
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
