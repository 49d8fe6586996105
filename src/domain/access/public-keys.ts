import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Context } from '../context.ts';
import type { Actor } from './actor.ts';

const MAX_LENGTH = 16_384;

/** SSH public keys of a user, one a line; empty when there are none. */
export async function readPublicKeys(db: Db, userId: UserId): Promise<string> {
  const result = await db.query<{ publicKeys: string }>('select public_keys as "publicKeys" from users where id = $1', [
    userId,
  ]);
  return result.rows[0]?.publicKeys ?? '';
}

/** Replaces all of them. Throws `badRequest` for a text that no set of keys is as long as. */
export async function updatePublicKeys(
  { pool }: Pick<Context, 'pool'>,
  actor: Actor,
  publicKeys: string,
): Promise<void> {
  if (publicKeys.length > MAX_LENGTH) {
    throw new Failure('badRequest', `The public keys must not be longer than ${MAX_LENGTH} characters in all.`);
  }
  await pool.query('update users set public_keys = $2 where id = $1', [actor.userId, publicKeys]);
}
