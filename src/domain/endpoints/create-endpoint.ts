import { Failure } from '../../core/errors.ts';
import { type EndpointId, newId, type TemplateId } from '../../core/ids.ts';
import { type Db, transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { insertRelease } from '../releases/release-store.ts';
import { findUsableTemplate } from '../templates/template-store.ts';
import { checkReferences } from './check-references.ts';
import { checkRules } from './check-rules.ts';
import { CONTAINER_DEFAULTS, type ContainerConfig, type Endpoint } from './endpoint.ts';
import { insertEndpointRow } from './endpoint-store.ts';
import { publishEndpoint } from './publish-endpoint.ts';

/** The container's fields may be left out: the template's, then the defaults, take their place. */
export type NewEndpoint = Omit<Endpoint, 'id' | 'userId' | 'cpu' | 'version' | 'createdAt' | keyof ContainerConfig> &
  Partial<ContainerConfig>;

/** Stores the endpoint with its first release and wakes the scaler. Throws `badRequest` for a broken rule. */
export async function createEndpoint(context: Context, actor: Actor, input: NewEndpoint): Promise<Endpoint> {
  const endpoint = await transaction(context.pool, async (db) => {
    const container = mergeContainer(await templateContainer(db, actor, input.templateId), input);
    const wanted = { ...input, ...container };
    checkRules(wanted);
    await checkReferences(db, actor.userId, wanted);
    const created = await insertEndpointRow(db, {
      ...wanted,
      id: newId<EndpointId>(),
      userId: actor.userId,
      cpu: null,
      version: 1,
    });
    await insertRelease(db, created, actor.userId, []);
    return created;
  });
  publishEndpoint(context, endpoint.id);
  return endpoint;
}

/** A stranger's registry stays with the stranger: of a public template only its owner's endpoints get the credentials. */
async function templateContainer(
  db: Db,
  actor: Actor,
  templateId: string | null,
): Promise<Partial<ContainerConfig> | null> {
  if (templateId === null) return null;
  const template = await findUsableTemplate(db, actor.userId, templateId as TemplateId);
  if (!template) throw new Failure('badRequest', `templateId: there is no template '${templateId}'`);
  if (!template.isServerless) {
    throw new Failure('badRequest', `templateId: template '${templateId}' is not a serverless template`);
  }
  const { image, args, diskGb, ports, env } = template;
  return { image, args, diskGb, ports, env, registryId: template.userId === actor.userId ? template.registryId : null };
}

/** The request wins over the template, `env` name by name. */
function mergeContainer(
  template: Partial<ContainerConfig> | null,
  given: Partial<ContainerConfig> | NewEndpoint,
): ContainerConfig {
  const pick = <K extends keyof typeof CONTAINER_DEFAULTS>(name: K): ContainerConfig[K] =>
    (given[name] ?? template?.[name] ?? CONTAINER_DEFAULTS[name]) as ContainerConfig[K];
  const image = given.image ?? template?.image;
  if (image === undefined)
    throw new Failure('badRequest', 'image: there must be an image, or a template that names one');
  return {
    image,
    args: pick('args'),
    diskGb: pick('diskGb'),
    ports: pick('ports'),
    env: { ...template?.env, ...given.env },
    // Null is a value here: it drops the template's.
    registryId: given.registryId === undefined ? (template?.registryId ?? null) : given.registryId,
  };
}
