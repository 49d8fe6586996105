import { Failure } from '../../core/errors.ts';
import type { TemplateId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { deleteTemplateRow, getTemplateRow, getTemplateUse } from './template-store.ts';

/** Deletes a template. Throws `notFound`, and `badRequest` while it is in use. */
export async function deleteTemplate(context: Context, actor: Actor, id: TemplateId): Promise<void> {
  await transaction(context.pool, async (db) => {
    await getTemplateRow(db, actor.userId, id, 'for update');
    const usedBy = await getTemplateUse(db, id);
    if (usedBy !== null) throw new Failure('badRequest', `The template is in use by ${usedBy}.`, { isClash: true });
    await deleteTemplateRow(db, actor.userId, id);
  });
}
