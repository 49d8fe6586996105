import { Failure } from '../../core/errors.ts';
import type { VolumeId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import type { Volume } from './volume.ts';
import { getVolumeRow, updateVolumeRow } from './volume-store.ts';

/** Renames or grows a volume. Throws `notFound`, and `badRequest` if it would shrink. */
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
      const detail = `size: a network volume can only grow, and is ${before.sizeGb} GB now: ${after.sizeGb} is too small`;
      throw new Failure('badRequest', detail);
    }
    await updateVolumeRow(db, after);
    return after;
  });
}
