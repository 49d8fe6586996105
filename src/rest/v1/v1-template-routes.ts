import type { Static } from 'typebox';
import type { TemplateId } from '../../core/ids.ts';
import { checkPermission } from '../../domain/access/actor.ts';
import { change } from '../../domain/change.ts';
import { updateFollowedTemplate } from '../../domain/endpoints/update-followed-template.ts';
import { createTemplate, deleteTemplate } from '../../domain/templates/change-template.ts';
import type { Template } from '../../domain/templates/template.ts';
import { getReadableTemplate, listPublicTemplates, listTemplateRows } from '../../domain/templates/template-store.ts';
import { PERMISSIONS } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { flag, IdParams, UPDATES, type V1Route } from './v1-route.ts';
import {
  showTemplate,
  TemplateCreateInput,
  TemplateUpdateInput,
  toNewTemplate,
  toTemplateChange,
  V1Template,
  V1Templates,
} from './v1-templates.ts';

const tags = ['templates'];
const record = { 200: ref(V1Template) };
const querystring = Type.Object({
  includeEndpointBoundTemplates: flag('Also list templates that belong to one endpoint.'),
  includePublicTemplates: flag('Also list public ones of other users, at most 100.'),
  includeRunpodTemplates: flag('Also list official ones of the installation, at most 100.'),
});
/** One is read whatever the flags say. */
const TemplateQuery = Type.Object(
  Object.fromEntries(Object.keys(querystring.properties).map((name) => [name, flag('Taken and ignored.')])),
);
const MAX_PUBLIC = 100;

export const templateRoutes: V1Route = (app, deps) => {
  app.get('/v1/templates', {
    schema: { operationId: 'ListTemplates', tags, querystring, response: { 200: ref(V1Templates) } },
    config: { permission: PERMISSIONS.readTemplate },
    handler: async ({ actor, query }) => {
      const own = await listTemplateRows(deps.pool, actor.userId);
      const shown = own.filter((one) => query.includeEndpointBoundTemplates || one.endpointId === null);
      const sources = [
        ...(query.includeRunpodTemplates ? (['official'] as const) : []),
        ...(query.includePublicTemplates ? (['verified', 'community'] as const) : []),
      ];
      if (sources.length === 0) return shown.map(showTemplate);
      const others = await listPublicTemplates(deps.pool, actor.userId, { sources, limit: MAX_PUBLIC });
      return [...shown, ...others.filter(({ userId }) => userId !== actor.userId)].map(showTemplate);
    },
  });
  app.post('/v1/templates', {
    schema: { operationId: 'CreateTemplate', tags, body: ref(TemplateCreateInput), response: record },
    config: { permission: PERMISSIONS.writeTemplate },
    handler: async ({ actor, body }) => showTemplate(await change(deps, actor, createTemplate, toNewTemplate(body))),
  });
  app.get('/v1/templates/:id', {
    schema: {
      operationId: 'GetTemplate',
      description: 'Your own template, or a public one.',
      tags,
      params: IdParams,
      querystring: TemplateQuery,
      response: record,
    },
    config: { permission: PERMISSIONS.readTemplate, failures: ['notFound'] },
    handler: async ({ actor, params }) =>
      showTemplate(await getReadableTemplate(deps.pool, actor.userId, params.id as TemplateId)),
  });
  for (const [method, suffix, operationId] of UPDATES) {
    app.route({
      method,
      url: `/v1/templates/:id${suffix}`,
      schema: {
        operationId: `${operationId}Template`,
        description: 'Endpoints that still have the settings of the template get the new ones, as a new release.',
        tags,
        params: IdParams,
        body: ref(TemplateUpdateInput),
        response: record,
      },
      config: { permission: PERMISSIONS.writeTemplate, failures: ['notFound'] },
      handler: async ({ actor, params, body }) => {
        const id = (params as { id: string }).id as TemplateId;
        const checkEndpoint = (id: string) => checkPermission(actor, PERMISSIONS.writeEndpoint({ id }));
        const update = (before: Template) => toTemplateChange(body as Static<typeof TemplateUpdateInput>, before);
        return showTemplate(await change(deps, actor, updateFollowedTemplate, { id, update, checkEndpoint }));
      },
    });
  }
  app.delete('/v1/templates/:id', {
    schema: { operationId: 'DeleteTemplate', tags, params: IdParams, response: { 204: noContent('Deleted.') } },
    config: { permission: PERMISSIONS.deleteTemplate, failures: ['notFound'] },
    handler: async ({ actor, params }, reply) => {
      await change(deps, actor, deleteTemplate, { id: params.id as TemplateId });
      return reply.code(204).send();
    },
  });
};
