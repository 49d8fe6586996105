import { type EndpointId, newId, type TemplateId } from '../../core/ids.ts';
import { type Db, transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { checkTemplate } from './check-template.ts';
import type { Template } from './template.ts';
import { insertTemplateRow } from './template-store.ts';

/** Without `clientSettings` there are none. */
export type NewTemplate = Omit<Template, 'id' | 'userId' | 'clientSettings' | 'endpointId' | 'createdAt'> &
  Partial<Pick<Template, 'clientSettings'>>;

/** Throws `badRequest` for a broken rule, a name that is taken among them. */
export async function createTemplate(context: Context, actor: Actor, input: NewTemplate): Promise<Template> {
  return transaction(context.pool, (db) => addTemplate(db, actor, input, null));
}

/** The same within a transaction that does more. With `endpointId` the template is that endpoint's own. */
export async function addTemplate(
  db: Db,
  actor: Actor,
  input: NewTemplate,
  endpointId: EndpointId | null,
): Promise<Template> {
  const template = { clientSettings: {}, ...input, id: newId<TemplateId>(), userId: actor.userId, endpointId };
  await checkTemplate(db, template, input);
  return insertTemplateRow(db, template);
}
