import { isDeepStrictEqual } from 'node:util';
import type { TemplateId } from '../../core/ids.ts';
import { type Db, transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { checkTemplate } from './check-template.ts';
import type { NewTemplate } from './create-template.ts';
import type { Template } from './template.ts';
import { getTemplateRow, updateTemplateRow } from './template-store.ts';

/** A change, or a function that returns it for the template as it is. */
export type TemplateUpdate = Partial<NewTemplate> | ((before: Template) => Partial<NewTemplate>);

/** Applies a partial update; what was made from the template does not change. Throws `notFound` and `badRequest`. */
export async function updateTemplate(
  context: Context,
  actor: Actor,
  id: TemplateId,
  update: TemplateUpdate,
): Promise<Template> {
  return transaction(context.pool, (db) => changeTemplate(db, actor, id, update));
}

/** `updateTemplate` in the caller's transaction. */
export async function changeTemplate(db: Db, actor: Actor, id: TemplateId, update: TemplateUpdate): Promise<Template> {
  const before = await getTemplateRow(db, actor.userId, id, 'for update');
  const change = typeof update === 'function' ? update(before) : update;
  if (Object.keys(change).length === 0) return before;
  const after = { ...before, ...change };
  if (before.mark === 'VERIFIED' && !isDeepStrictEqual(before, after)) after.mark = null; // nobody looked at the new settings
  await checkTemplate(db, actor, before, after, change);
  await updateTemplateRow(db, after);
  return after;
}
