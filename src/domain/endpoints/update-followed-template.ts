import { isDeepStrictEqual } from 'node:util';
import type { EndpointId, TemplateId } from '../../core/ids.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import type { Db } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { changeTemplate, type NewTemplate, type TemplateUpdate } from '../templates/change-template.ts';
import type { Template } from '../templates/template.ts';
import { getTemplateRow } from '../templates/template-store.ts';
import type { ContainerConfig, Endpoint } from './endpoint.ts';
import { publishEndpoint } from './publish-endpoint.ts';
import { changeEndpoint } from './update-endpoint.ts';

type CheckEndpoint = (id: EndpointId) => void;

const CONTAINER_FIELDS = ['image', 'args', 'diskGb', 'ports', 'env', 'registryId'] as const;

/**
 * `updateTemplate` for interfaces in which endpoints follow their template: those that were made from it and still have its
 * settings get the new ones, as a new release. All or nothing, and one change of a template after the other. `checkEndpoint` throws for an endpoint that the key may not change.
 */
export const updateFollowedTemplate: Operation<
  Tx,
  { id: TemplateId; update: TemplateUpdate; checkEndpoint: CheckEndpoint },
  Template
> = {
  name: 'template.update-followed',
  permission: PERMISSIONS.writeTemplate,
  async run({ db, actor, bus }, { id, update, checkEndpoint }) {
    // Not the template's row: an endpoint that is given another template locks its own row first.
    await db.query('select pg_advisory_xact_lock($1, hashtext($2))', [ADVISORY_LOCKS.followedTemplate, id]);
    const before = await getTemplateRow(db, actor.userId, id);
    const change = typeof update === 'function' ? update(before) : update;
    const followers = await updateFollowers(db, actor, before, { change, checkEndpoint });
    for (const endpointId of followers) publishEndpoint(bus, endpointId);
    return changeTemplate(db, actor, id, change);
  },
  subject: ({ id }) => id,
  locksOthersFirst: true,
};

/** Returns the endpoints that were changed. */
async function updateFollowers(
  db: Db,
  actor: Actor,
  template: Template,
  { change, checkEndpoint }: { change: Partial<NewTemplate>; checkEndpoint: CheckEndpoint },
): Promise<EndpointId[]> {
  const given = CONTAINER_FIELDS.filter((field) => change[field] !== undefined);
  if (given.length === 0) return [];
  const container = Object.fromEntries(given.map((field) => [field, change[field]])) as Partial<ContainerConfig>;
  const made = await db.query<{ id: EndpointId }>(
    'select id from endpoints where user_id = $1 and template_id = $2 order by id',
    [actor.userId, template.id],
  );
  const changed: EndpointId[] = [];
  for (const { id } of made.rows) {
    await changeEndpoint(db, actor, id, (before) => {
      if (!hasSettingsOf(before, template)) return {};
      checkEndpoint(id);
      changed.push(id);
      return container;
    });
  }
  return changed;
}

function hasSettingsOf(endpoint: Endpoint, template: Template): boolean {
  return CONTAINER_FIELDS.every((field) => isDeepStrictEqual(endpoint[field], template[field]));
}
