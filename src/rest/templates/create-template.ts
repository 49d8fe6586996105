import { change } from '../../domain/change.ts';
import { createTemplate } from '../../domain/templates/change-template.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { TemplateResponse, type TemplateWire, toNewTemplate, toTemplateResponse } from './template-wire.ts';

export const createTemplateRoute =
  (wire: TemplateWire): RestRoute =>
  (app, deps) => {
    app.post(
      '/v2/templates',
      {
        schema: {
          operationId: 'createTemplate',
          summary: 'Create a template',
          tags: ['templates'],
          body: wire.CreateRequest,
          response: { 201: ref(TemplateResponse) },
        },
        config: { permission: PERMISSIONS.writeTemplate },
      },
      async (request, reply) => {
        const record = await change(deps, request.actor, createTemplate, toNewTemplate(wire, request.body));
        return reply.code(201).send(toTemplateResponse(wire, record));
      },
    );
  };
