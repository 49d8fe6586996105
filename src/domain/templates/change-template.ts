import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../core/errors.ts';
import { type EndpointId, newId, type TemplateId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { checkContainer } from '../containers/check-container.ts';
import { checkHttpPortCount, checkRepeatedPort } from '../containers/check-ports.ts';
import { checkReferences } from '../containers/check-references.ts';
import { checkCudaVersions } from '../endpoints/gpu-rule.ts';
import type { Template, TemplateMark } from './template.ts';
import {
  deleteTemplateRow,
  getTemplateRow,
  getTemplateUse,
  insertTemplateRow,
  updateTemplateMark,
  updateTemplateRow,
} from './template-store.ts';

type Optional = 'clientSettings' | 'startSsh' | 'startJupyter' | 'allowedCudaVersions';

/** Optional fields default to nothing. */
export type NewTemplate = Omit<Template, 'id' | 'userId' | 'mark' | 'endpointId' | 'createdAt' | Optional> &
  Partial<Pick<Template, Optional>>;

/** A change, or a function that returns it for the template as it is. */
export type TemplateUpdate = Partial<NewTemplate> | ((before: Template) => Partial<NewTemplate>);

const NOTHING = { clientSettings: {}, startSsh: null, startJupyter: null, allowedCudaVersions: [], mark: null };

/** Stores a template. Throws `badRequest` if a rule is broken or the name is taken. */
export const createTemplate: Operation<Tx, NewTemplate, Template> = {
  name: 'template.create',
  permission: () => PERMISSIONS.writeTemplate({}),
  run: ({ db, actor }, input) => addTemplate(db, actor, input, null),
  subject: (_, { id }) => id,
};

/** Applies a partial update; what was made from the template does not change. Throws `notFound` and `badRequest`. */
export const updateTemplate: Operation<Tx, { id: TemplateId; update: TemplateUpdate }, Template> = {
  name: 'template.update',
  permission: PERMISSIONS.writeTemplate,
  run: ({ db, actor }, { id, update }) => changeTemplate(db, actor, id, update),
  subject: ({ id }) => id,
};

/** Deletes a template. Throws `notFound`, and `badRequest` while something uses it. */
export const deleteTemplate: Operation<Tx, { id: TemplateId }, void> = {
  name: 'template.delete',
  permission: PERMISSIONS.deleteTemplate,
  async run({ db, actor }, { id }) {
    await getTemplateRow(db, actor.userId, id, 'for update');
    const usedBy = await getTemplateUse(db, id);
    if (usedBy !== null) throw new Failure('badRequest', `The template is in use by ${usedBy}.`, { isClash: true });
    await deleteTemplateRow(db, actor.userId, id);
  },
  subject: ({ id }) => id,
};

/** Sets what the operator says of a public template of any user. Throws `notFound`, and `badRequest` if it is not public. */
export const markTemplate: Operation<Tx<null>, { id: TemplateId; mark: TemplateMark | null }, Template> = {
  name: 'template.mark',
  permission: PERMISSIONS.writeTemplate,
  run: ({ db }, { id, mark }) => updateTemplateMark(db, id, mark),
  subject: ({ id }) => id,
};

/** `createTemplate` as a part of another change. With `endpointId` the template belongs to that endpoint. */
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

/** `updateTemplate` as a part of another change. */
export async function changeTemplate(db: Db, actor: Actor, id: TemplateId, update: TemplateUpdate): Promise<Template> {
  const before = await getTemplateRow(db, actor.userId, id, 'for update');
  const change = typeof update === 'function' ? update(before) : update;
  if (Object.keys(change).length === 0) return before;
  const after = { ...before, ...change };
  if (before.mark === 'VERIFIED' && !isDeepStrictEqual(before, after)) after.mark = null; // the mark was for the old settings
  await checkTemplate(db, actor, before, after, change);
  await updateTemplateRow(db, after);
  return after;
}

/**
 * Checks the `changed` fields by the rules that a schema cannot express; throws `badRequest` with the field, and
 * `forbidden` for a reference that `before` does not have and the key may not add.
 */
async function checkTemplate(
  db: Db,
  actor: Actor,
  before: Template | null,
  template: Omit<Template, 'createdAt'>,
  changed: Partial<Template>,
): Promise<void> {
  checkContainer(changed);
  checkCudaVersions(changed);
  if (changed.ports) {
    checkRepeatedPort(changed.ports);
    checkHttpPortCount(changed.ports);
  }
  const isMountAbout = changed.isServerless !== undefined || changed.persistentMount !== undefined;
  if (isMountAbout && template.isServerless && template.persistentMount !== null) {
    throw new Failure(
      'badRequest',
      'mounts.persistent: a serverless template cannot have persistent storage (serverless is true)',
    );
  }
  await checkReferences(db, actor, before, changed);
}
