import type { SecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';

/**
 * Seals under the database's current key. `db` must be the transaction that stores the value: it blocks the start of a
 * rotation, so that none can miss the value.
 */
export async function sealSecret(db: Db, secretBox: SecretBox, secret: string, recordId: string): Promise<Buffer> {
  const result = await db.query<{ keyId: string | null }>({
    name: 'master-key-share',
    text: `select encode(key_id, 'hex') as "keyId" from master_key for share`,
  });
  return secretBox.seal(secret, recordId, result.rows[0]?.keyId ?? undefined);
}
