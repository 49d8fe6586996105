import type { SecretBox } from '../../core/secret-box.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { countSealedValues, listValuesWithoutKey } from './sealed-values.ts';

/** How many values of version 1, which name no key, are tried: some may be damaged. */
const TRIED = 20;
const WHAT_TO_DO =
  'bring back the file master-key of the data directory, or set PODYARD_MASTER_KEY. Nothing was changed.';

/**
 * Checks that `secretBox` has every key that values in the database are sealed under, so that a wrong master key fails the
 * start, not a worker later. A single damaged value does not prevent the start: its user gets an error. Throws an error
 * with advice; only the stored id of the current key may change.
 */
export async function checkMasterKey(pool: Pool, secretBox: SecretBox): Promise<void> {
  await transaction(pool, async (db) => {
    const { rows } = await db.query<{ keyId: string | null }>(
      `select encode(key_id, 'hex') as "keyId" from master_key for update`, // blocks sealing meanwhile
    );
    const counts = await countSealedValues(db);
    const missing = [...counts].filter(([keyId]) => keyId !== null && !secretBox.holds(keyId));
    if (missing.length > 0 || !(await opensValuesWithoutKey(db, secretBox))) {
      const keys = missing.map(([keyId, count]) => `${keyId} for ${count}`).join(', ');
      const what = 'the master key is not the one that the secrets in this database were encrypted with';
      throw new Error(`${what}${keys && ` (missing: ${keys})`}: ${WHAT_TO_DO}`);
    }
    const current = rows[0]?.keyId ?? null;
    if (current !== null && secretBox.holds(current)) return;
    // The first check, or the current key was lost while no value needed it.
    await db.query(`update master_key set key_id = decode($1, 'hex')`, [secretBox.firstKeyId]);
  });
}

/** Throws an error with advice if any value is sealed: a new key could not open it. Call it before creating a key. */
export async function checkNothingSealed(db: Db, file: string): Promise<void> {
  const count = [...(await countSealedValues(db)).values()].reduce((sum, each) => sum + each, 0);
  if (count === 0) return;
  throw new Error(
    `the master key is missing: ${count} values in this database are encrypted, and there is no ${file}: ${WHAT_TO_DO}`,
  );
}

async function opensValuesWithoutKey(db: Db, secretBox: SecretBox): Promise<boolean> {
  const values = await listValuesWithoutKey(db, TRIED);
  return values.length === 0 || values.some(({ id, sealed }) => opens(secretBox, sealed, id));
}

function opens(secretBox: SecretBox, sealed: Buffer, id: string): boolean {
  try {
    secretBox.open(sealed, id);
    return true;
  } catch {
    return false;
  }
}
