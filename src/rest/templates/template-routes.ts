import type { TemplateId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { createTemplate, deleteTemplate, updateTemplate } from '../../domain/templates/change-template.ts';
import { getReadableTemplate, listTemplateRows } from '../../domain/templates/template-store.ts';
import { EnvQuery, editEnv } from '../shared/env-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent, ref } from '../shared/schema.ts';
import {
  TemplateList,
  TemplateParams,
  TemplateResponse,
  type TemplateWire,
  toNewTemplate,
  toTemplateChange,
  toTemplateResponse,
  UpdateTemplateRequest,
} from './template-wire.ts';

export const templateRoutes =
  (wire: TemplateWire): RestRoute =>
  (app, deps) => {
    app.get('/v2/templates', {
      schema: {
        operationId: 'listTemplates',
        summary: 'List templates',
        tags: ['templates'],
        response: { 200: ref(TemplateList) },
      },
      config: { permission: PERMISSIONS.readTemplate },
      handler: async (request) => {
        const records = await listTemplateRows(deps.pool, request.actor.userId);
        return { templates: records.map((template) => toTemplateResponse(wire, template)) };
      },
    });

    app.post('/v2/templates', {
      schema: {
        operationId: 'createTemplate',
        summary: 'Create a template',
        tags: ['templates'],
        body: wire.CreateRequest,
        response: { 201: ref(TemplateResponse) },
      },
      config: { permission: PERMISSIONS.writeTemplate },
      handler: async (request, reply) => {
        const record = await change(deps, request.actor, createTemplate, toNewTemplate(wire, request.body));
        return reply.code(201).send(toTemplateResponse(wire, record));
      },
    });

    app.get('/v2/templates/:id', {
      schema: {
        operationId: 'getTemplate',
        summary: 'Get a template',
        description: 'Your own, or another user’s public one, which is shown without its registry.',
        tags: ['templates'],
        params: TemplateParams,
        response: { 200: ref(TemplateResponse) },
      },
      config: { permission: PERMISSIONS.readTemplate, failures: ['notFound'] },
      handler: async (request) =>
        toTemplateResponse(
          wire,
          await getReadableTemplate(deps.pool, request.actor.userId, request.params.id as TemplateId),
        ),
    });

    app.patch('/v2/templates/:id', {
      schema: {
        operationId: 'updateTemplate',
        summary: 'Update a template',
        description: 'Only the given fields change. Pods and endpoints created from it are not affected.',
        tags: ['templates'],
        params: TemplateParams,
        querystring: EnvQuery,
        body: ref(UpdateTemplateRequest),
        response: { 200: ref(TemplateResponse) },
      },
      config: { permission: PERMISSIONS.writeTemplate, failures: ['notFound'] },
      handler: async (request) => {
        const { actor, body, params, query } = request;
        const template = await change(deps, actor, updateTemplate, {
          id: params.id as TemplateId,
          update: (before) => editEnv(toTemplateChange(body), before, query),
        });
        return toTemplateResponse(wire, template);
      },
    });

    app.delete('/v2/templates/:id', {
      schema: {
        operationId: 'deleteTemplate',
        summary: 'Delete a template',
        description: 'Refused while pods or endpoints created from it exist.',
        tags: ['templates'],
        params: TemplateParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.deleteTemplate, failures: ['badRequest', 'notFound'] },
      handler: async (request, reply) => {
        await change(deps, request.actor, deleteTemplate, { id: request.params.id as TemplateId });
        return reply.code(204).send();
      },
    });
  };
