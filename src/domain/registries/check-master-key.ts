import type { SecretBox } from '../../core/secret-box.ts';
import type { Db } from '../../db/pool.ts';

/**
 * Opens one stored secret, if there is any, so that a wrong master key is met at the start and not when a worker is
 * needed. Throws a sentence that says what to do; changes nothing.
 */
export async function checkMasterKey(db: Db, secretBox: SecretBox): Promise<void> {
  const result = await db.query<{ id: string; sealed: Buffer }>(
    'select id, password as sealed from registries order by created_at limit 1',
  );
  const [secret] = result.rows;
  if (!secret) return;
  try {
    secretBox.open(secret.sealed, secret.id);
  } catch (cause) {
    throw new Error(
      'the master key is not the one that the secrets in this database were encrypted with: bring back the file ' +
        'master-key of the data directory, or set PODYARD_MASTER_KEY. Nothing was changed.',
      { cause },
    );
  }
}
