import { Failure } from '../../core/errors.ts';
import type { EndpointId, TemplateId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { addTemplate, type NewTemplate } from '../templates/create-template.ts';
import type { Template } from '../templates/template.ts';
import {
  deleteTemplateRow,
  findUsableTemplate,
  getTemplateRow,
  updateTemplateUse,
} from '../templates/template-store.ts';
import { changeTemplate } from '../templates/update-template.ts';
import type { ContainerConfig } from './endpoint.ts';

/** From where an endpoint's container settings are copied: a template by id, or one that is given inside and becomes its own. */
export type TemplateSource = { templateId: string } | { ownTemplate: OwnTemplate };

/** Without a name it gets one that no other endpoint's has, or keeps the one it has. */
export type OwnTemplate = Omit<NewTemplate, 'name'> & Partial<Pick<NewTemplate, 'name'>>;

/** The settings that are copied. Throws `badRequest` for a template that the user cannot use for an endpoint. */
export async function templateContainer(db: Db, actor: Actor, templateId: string): Promise<ContainerConfig> {
  const template = await findUsableTemplate(db, actor.userId, templateId as TemplateId);
  if (!template) throw new Failure('badRequest', `templateId: there is no template '${templateId}'`);
  return copyContainer(actor, template);
}

/** Makes the template that is given inside, or with the endpoint's former one in its place: an endpoint has one of its own. */
export async function saveOwnTemplate(
  db: Db,
  actor: Actor,
  endpoint: { id: EndpointId; name: string },
  formerId: string | null,
  input: OwnTemplate,
): Promise<ContainerConfig & { templateId: string }> {
  const former = formerId === null ? undefined : await findOwnTemplate(db, actor, endpoint.id, formerId);
  const name = `${endpoint.name}__template__${endpoint.id}`;
  const template = former
    ? await changeTemplate(db, actor, former.id, input)
    : await addTemplate(db, actor, { name, ...input }, endpoint.id);
  return { ...copyContainer(actor, template), templateId: template.id };
}

/** The endpoint is no longer made from it: its own one goes, another one begins to rest. */
export async function leaveTemplate(db: Db, actor: Actor, endpointId: EndpointId, templateId: string): Promise<void> {
  const own = await findOwnTemplate(db, actor, endpointId, templateId);
  if (own) await deleteTemplateRow(db, actor.userId, own.id);
  else await updateTemplateUse(db, templateId);
}

async function findOwnTemplate(
  db: Db,
  actor: Actor,
  endpointId: EndpointId,
  templateId: string,
): Promise<Template | undefined> {
  const template = await getTemplateRow(db, actor.userId, templateId as TemplateId, 'for update').catch((error) => {
    if (error instanceof Failure && error.kind === 'notFound') return undefined; // a stranger's public one
    throw error;
  });
  return template?.endpointId === endpointId ? template : undefined;
}

/** A stranger's registry stays with the stranger: of a public template only its owner's endpoints get the credentials. */
function copyContainer(actor: Actor, template: Template): ContainerConfig {
  if (!template.isServerless) {
    throw new Failure('badRequest', `templateId: template '${template.id}' is not a serverless template`);
  }
  const { image, args, diskGb, ports, env } = template;
  return { image, args, diskGb, ports, env, registryId: template.userId === actor.userId ? template.registryId : null };
}
