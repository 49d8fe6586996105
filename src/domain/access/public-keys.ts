import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Operation, Tx } from '../change.ts';
import { PERMISSIONS } from './permissions.ts';

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
export const updatePublicKeys: Operation<Tx, { publicKeys: string }, UserId> = {
  name: 'account.update-public-keys',
  permission: PERMISSIONS.writeAccount,
  async run({ db, actor: { userId } }, { publicKeys }) {
    if (publicKeys.length > MAX_LENGTH) {
      throw new Failure('badRequest', `pubKey: must have at most ${MAX_LENGTH} characters in total`);
    }
    await db.query('update users set public_keys = $2 where id = $1', [userId, publicKeys]);
    return userId;
  },
  subject: (_, userId) => userId,
  target: (_, { userId }) => userId,
};
