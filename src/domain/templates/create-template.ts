import { newId, type TemplateId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { checkTemplate } from './check-template.ts';
import type { Template } from './template.ts';
import { insertTemplateRow } from './template-store.ts';

export type NewTemplate = Omit<Template, 'id' | 'userId'>;

/** Throws `badRequest` for a broken rule, a name that is taken among them. */
export async function createTemplate(context: Context, actor: Actor, input: NewTemplate): Promise<Template> {
  const template = { ...input, id: newId<TemplateId>(), userId: actor.userId };
  await transaction(context.pool, async (db) => {
    await checkTemplate(db, template, input);
    await insertTemplateRow(db, template);
  });
  return template;
}
