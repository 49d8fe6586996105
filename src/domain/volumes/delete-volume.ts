import { Failure } from '../../core/errors.ts';
import type { VolumeId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { deleteVolumeRow, findVolumeUse, getVolumeRow } from './volume-store.ts';

/** Deletes a volume; its files are removed soon after. Throws `notFound`, and `badRequest` while it is mounted. */
export async function deleteVolume(context: Context, actor: Actor, id: VolumeId): Promise<void> {
  await transaction(context.pool, async (db) => {
    await getVolumeRow(db, actor.userId, id, 'for update');
    const use = await findVolumeUse(db, actor.userId, id);
    if (use !== undefined)
      throw new Failure('badRequest', `The network volume is mounted by ${use}.`, { isClash: true });
    await deleteVolumeRow(db, actor.userId, id);
  });
  context.bus.publish('volume', id);
}
