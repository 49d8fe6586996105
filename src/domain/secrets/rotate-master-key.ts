import { messageOf } from '../../core/errors.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { lockValuesUnderOtherKeys, SEALED_COLUMNS, type SealedColumn, updateSealedValues } from './sealed-values.ts';

/** Rows that one transaction locks: a change of one of them waits for a few milliseconds. */
const BATCH = 100;

export interface Rotation {
  /** How many values were sealed anew by this run. */
  resealed: number;
  /** What could not be opened, as sentences with table and id; it stays as it is. */
  unreadable: string[];
}

/**
 * Seals everything under the key `keyId`, while others go on working with it. First the database notes the key, and
 * waits for whoever is sealing: nothing new appears under another key from there on. Then value by value is sealed anew,
 * a batch a transaction. Wherever it is cut off, everything opens with the keys of before and after together, and the
 * next run does what is left. `onBatch` hears how many are done so far.
 */
export async function rotateMasterKey(
  pool: Pool,
  secretBox: SecretBox,
  keyId: string,
  onBatch: (resealed: number) => void = () => {},
): Promise<Rotation> {
  await pool.query(`update master_key set key_id = decode($1, 'hex')`, [keyId]);
  const rotation: Rotation = { resealed: 0, unreadable: [] };
  for (const column of SEALED_COLUMNS) {
    let after: string | undefined = '';
    while (after !== undefined) {
      const before = rotation.resealed;
      after = await resealBatch(pool, secretBox, column, { keyId, after }, rotation);
      if (rotation.resealed > before) onBatch(rotation.resealed);
    }
  }
  return rotation;
}

/** Answers where the next batch begins, or undefined when there is none. */
async function resealBatch(
  pool: Pool,
  secretBox: SecretBox,
  column: SealedColumn,
  { keyId, after }: { keyId: string; after: string },
  rotation: Rotation,
): Promise<string | undefined> {
  const { values, resealed, unreadable } = await transaction(pool, async (db) => {
    const values = await lockValuesUnderOtherKeys(db, column, { keyId, after, limit: BATCH });
    const unreadable: string[] = [];
    const resealed = values.flatMap(({ id, sealed }) => {
      try {
        return [{ id, sealed: secretBox.seal(secretBox.open(sealed, id), id, keyId) }];
      } catch (error) {
        unreadable.push(`${column.table} ${id}: ${messageOf(error)}`);
        return [];
      }
    });
    if (resealed.length > 0) await updateSealedValues(db, column, resealed);
    return { values, resealed, unreadable };
  });
  rotation.resealed += resealed.length;
  rotation.unreadable.push(...unreadable);
  return values.length < BATCH ? undefined : values.at(-1)!.id;
}
