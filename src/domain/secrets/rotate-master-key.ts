import { messageOf } from '../../core/errors.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { lockValuesUnderOtherKeys, SEALED_COLUMNS, type SealedColumn, updateSealedValues } from './sealed-values.ts';

/** Rows locked per transaction; a concurrent change of one waits for a few milliseconds. */
const BATCH = 100;

export interface Rotation {
  /** How many values this run resealed. */
  resealed: number;
  /** Values that could not be opened and stay as they are: table, id and reason. */
  unreadable: string[];
}

/**
 * Reseals every value under the key `keyId`, while servers keep running. First it stores the key's id, which waits for
 * concurrent seals: from then on nothing new is sealed under another key. Then it reseals the values in batches, each in a
 * transaction. If interrupted, the old and the new key together still open everything, and the next run resumes.
 * `onBatch` gets the number resealed so far.
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

/** Returns the position of the next batch, or undefined if there is none. */
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
