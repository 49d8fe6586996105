import type { SecretBox } from '../../core/secret-box.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { countSealedValues, listValuesWithoutKey } from './sealed-values.ts';

/** Values of the first form do not name their key: a few are tried, for one of them may be damaged. */
const TRIED = 20;
const WHAT_TO_DO =
  'bring back the file master-key of the data directory, or set PODYARD_MASTER_KEY. Nothing was changed.';

/**
 * Makes sure that `secretBox` has every key that something in the database is sealed under, so that a wrong master key
 * is met at the start and not when a worker is needed. A single damaged value is no reason not to start: who uses it is
 * told. Throws a sentence that says what to do; of the database only the note of the current key may change.
 */
export async function checkMasterKey(pool: Pool, secretBox: SecretBox): Promise<void> {
  await transaction(pool, async (db) => {
    const { rows } = await db.query<{ keyId: string | null }>(
      `select encode(key_id, 'hex') as "keyId" from master_key for update`, // nothing is sealed meanwhile
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
    // Nobody has looked before; or the key was lost when there was nothing left, or not yet anything, to open with it.
    await db.query(`update master_key set key_id = decode($1, 'hex')`, [secretBox.firstKeyId]);
  });
}

/** Throws a sentence when something is sealed: then a new key would help nobody. Call it before one is made. */
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
