import { Failure } from '../../core/errors.ts';
import type { VolumeId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import type { Volume } from './volume.ts';
import { getVolumeRow, updateVolumeRow } from './volume-store.ts';

/** A volume is renamed or grows. Throws `notFound`, and `badRequest` for a size below what it has. */
export async function updateVolume(
  context: Context,
  actor: Actor,
  id: VolumeId,
  change: Partial<Pick<Volume, 'name' | 'sizeGb'>>,
): Promise<Volume> {
  return transaction(context.pool, async (db) => {
    const before = await getVolumeRow(db, actor.userId, id, 'for no key update');
    const after = { ...before, ...change };
    if (after.sizeGb < before.sizeGb) {
      const detail = `size: a network volume only grows; it has ${before.sizeGb} GB, so ${after.sizeGb} is too little`;
      throw new Failure('badRequest', detail);
    }
    await updateVolumeRow(db, after);
    return after;
  });
}
