import { type EndpointId, newId, type TemplateId } from '../../core/ids.ts';
import { type Db, transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { checkTemplate } from './check-template.ts';
import type { Template } from './template.ts';
import { insertTemplateRow } from './template-store.ts';

type Optional = 'clientSettings' | 'startSsh' | 'startJupyter' | 'allowedCudaVersions';

/** What is optional defaults to nothing. */
export type NewTemplate = Omit<Template, 'id' | 'userId' | 'mark' | 'endpointId' | 'createdAt' | Optional> &
  Partial<Pick<Template, Optional>>;

const NOTHING = { clientSettings: {}, startSsh: null, startJupyter: null, allowedCudaVersions: [], mark: null };

/** Stores a template. Throws `badRequest` if a rule is broken or the name is taken. */
export async function createTemplate(context: Context, actor: Actor, input: NewTemplate): Promise<Template> {
  return transaction(context.pool, (db) => addTemplate(db, actor, input, null));
}

/** `createTemplate` in the caller's transaction. With `endpointId` the template belongs to that endpoint. */
export async function addTemplate(
  db: Db,
  actor: Actor,
  input: NewTemplate,
  endpointId: EndpointId | null,
): Promise<Template> {
  const template = { ...NOTHING, ...input, id: newId<TemplateId>(), userId: actor.userId, endpointId };
  await checkTemplate(db, actor, null, template, input);
  return insertTemplateRow(db, template);
}
