import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { type Db, transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { updateTemplateUse } from '../templates/template-store.ts';
import { checkReferences } from './check-references.ts';
import { type Checked, checkRules } from './check-rules.ts';
import type { ContainerConfig, Endpoint } from './endpoint.ts';
import { getEndpointRow } from './endpoint-store.ts';
import { publishEndpoint } from './publish-endpoint.ts';
import { leaveTemplate, saveOwnTemplate, type TemplateSource, templateContainer } from './template-container.ts';
import { writeEndpoint } from './write-endpoint.ts';

/** A partial update. Absent fields stay; `workers` and `scaling` are merged by member, everything else is replaced. */
export interface EndpointChange
  extends Partial<
    Omit<Endpoint, 'id' | 'userId' | 'type' | 'cpu' | 'workers' | 'scaling' | 'templateId' | 'version' | 'createdAt'>
  > {
  workers?: Partial<Endpoint['workers']>;
  scaling?: Partial<Endpoint['scaling']>;
  /** A template to copy the container settings from, before the given ones apply. */
  template?: TemplateSource;
}

/**
 * Applies a partial update. A change of the release spec creates version n + 1 in the same transaction; unchanged values
 * create none. Throws `notFound`, `badRequest` if a rule is broken, and `forbidden` for a reference the key may not add.
 */
export async function updateEndpoint(
  context: Context,
  actor: Actor,
  id: EndpointId,
  { template, ...given }: EndpointChange,
): Promise<Endpoint> {
  const endpoint = await transaction(context.pool, async (db) => {
    const before = await getEndpointRow(db, actor.userId, id, 'for update');
    const change = template ? { ...(await copyTemplate(db, actor, before, template)), ...given } : given;
    if (Object.keys(change).length === 0) return before;
    const after = mergeChange(before, change);
    checkChange(after, change);
    await checkReferences(db, actor, before, change);
    return writeEndpoint(db, actor, before, after);
  });
  publishEndpoint(context, id);
  return endpoint;
}

async function copyTemplate(
  db: Db,
  actor: Actor,
  before: Endpoint,
  source: TemplateSource,
): Promise<ContainerConfig & { templateId: string }> {
  if ('ownTemplate' in source) {
    const copy = await saveOwnTemplate(db, actor, before, before.templateId, source.ownTemplate);
    if (before.templateId !== null && before.templateId !== copy.templateId)
      await updateTemplateUse(db, before.templateId);
    return copy;
  }
  const container = await templateContainer(db, actor, source.templateId);
  if (before.templateId !== null && before.templateId !== source.templateId) {
    await leaveTemplate(db, actor, before.id, before.templateId);
  }
  return { ...container, templateId: source.templateId };
}

function mergeChange(before: Endpoint, change: EndpointChange): Endpoint {
  return {
    ...before,
    ...change,
    workers: { ...before.workers, ...change.workers },
    scaling: { ...before.scaling, ...change.scaling },
  };
}

function checkChange(after: Endpoint, change: EndpointChange): void {
  if (after.cpu !== null) throw new Failure('badRequest', 'cpu: updating a CPU endpoint is not supported');
  const { workers: _, scaling: __, ...whole } = change;
  const given: Checked = change.workers === undefined ? whole : { ...whole, workers: after.workers };
  checkRules(given);
}
