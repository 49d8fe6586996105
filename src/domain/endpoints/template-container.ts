import { Failure } from '../../core/errors.ts';
import type { EndpointId, TemplateId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { addTemplate, changeTemplate, type NewTemplate } from '../templates/change-template.ts';
import type { Template } from '../templates/template.ts';
import { TemplateRefused } from '../templates/template-refused.ts';
import {
  deleteTemplateRow,
  findUsableTemplate,
  getTemplateRow,
  updateTemplateUse,
} from '../templates/template-store.ts';
import type { ContainerConfig } from './endpoint.ts';

/** Where an endpoint's container settings come from: a template by id, or an inline one that becomes the endpoint's own. */
export type TemplateSource = { templateId: string } | { ownTemplate: OwnTemplate };

/** Without a name it gets a unique one, or keeps its own. */
export type OwnTemplate = Omit<NewTemplate, 'name'> & Partial<Pick<NewTemplate, 'name'>>;

/** The settings that an endpoint takes from a template. */
export interface TemplateSettings extends ContainerConfig {
  /** For an endpoint made from it that sets no rule of its own; empty: any. */
  allowedCudaVersions: string[];
}

/** Returns the settings to copy. Throws `badRequest` if the user cannot use the template for an endpoint. */
export async function templateContainer(db: Db, actor: Actor, templateId: string): Promise<TemplateSettings> {
  const template = await findUsableTemplate(db, actor.userId, templateId as TemplateId);
  if (!template) throw new TemplateRefused('unknown', `templateId: there is no template '${templateId}'`);
  return copyContainer(actor, template);
}

/** Stores an inline template; an endpoint has at most one, so a former one of its own is updated. */
export async function saveOwnTemplate(
  db: Db,
  actor: Actor,
  endpoint: { id: EndpointId; name: string },
  formerId: string | null,
  input: OwnTemplate,
): Promise<TemplateSettings & { templateId: string }> {
  const former = formerId === null ? undefined : await findOwnTemplate(db, actor, endpoint.id, formerId);
  const name = `${endpoint.name}__template__${endpoint.id}`;
  const template = former
    ? await changeTemplate(db, actor, former.id, input)
    : await addTemplate(db, actor, { name, ...input }, endpoint.id);
  return { ...copyContainer(actor, template), templateId: template.id };
}

/** Ends an endpoint's use of a template: deletes its own, and starts the rest of another one. */
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
    if (error instanceof Failure && error.kind === 'notFound') return undefined; // another user's public template
    throw error;
  });
  return template?.endpointId === endpointId ? template : undefined;
}

/** Copies a template's settings. The registry of a public template is copied only for its owner. */
function copyContainer(actor: Actor, template: Template): TemplateSettings {
  if (!template.isServerless) {
    throw new TemplateRefused('otherPurpose', `templateId: template '${template.id}' is not a serverless template`);
  }
  const { image, args, diskGb, ports, env, allowedCudaVersions } = template;
  const registryId = template.userId === actor.userId ? template.registryId : null;
  return { image, args, diskGb, ports, env, registryId, allowedCudaVersions };
}
