import { Failure } from '../../core/errors.ts';
import type { RegistryId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { deleteRegistryRow, findRegistryUse, getRegistryRow } from './registry-store.ts';

/** Deletes a registry. Throws `notFound`, and `badRequest` while it is in use. */
export async function deleteRegistry(context: Context, actor: Actor, id: RegistryId): Promise<void> {
  await transaction(context.pool, async (db) => {
    await getRegistryRow(db, actor.userId, id, 'for update');
    const use = await findRegistryUse(db, actor.userId, id);
    if (use !== undefined) throw new Failure('badRequest', `The registry is in use by ${use}.`, { isClash: true });
    await deleteRegistryRow(db, actor.userId, id);
  });
}
