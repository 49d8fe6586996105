import { Failure } from '../../core/errors.ts';
import type { TemplateId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { deleteTemplateRow, getTemplateRow, getTemplateUse } from './template-store.ts';

/** Deletes a template. Throws `notFound`, and `badRequest` while it is in use and for two minutes afterwards. */
export async function deleteTemplate(context: Context, actor: Actor, id: TemplateId): Promise<void> {
  await transaction(context.pool, async (db) => {
    await getTemplateRow(db, actor.userId, id, 'for update');
    const { usedBy, restsUntil } = await getTemplateUse(db, id);
    if (usedBy !== null) throw new Failure('badRequest', `The template is in use by ${usedBy}.`, { isClash: true });
    if (restsUntil !== null) {
      const detail = `The template was in use until a moment ago; it can be deleted from ${restsUntil.toISOString()} on.`;
      throw new Failure('badRequest', detail, { isClash: true });
    }
    await deleteTemplateRow(db, actor.userId, id);
  });
}
