import { createTemplate } from '../../domain/templates/create-template.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { CreateTemplateRequest, TemplateResponse } from './template-schemas.ts';
import { toNewTemplate, toTemplateResponse } from './template-wire.ts';

export const createTemplateRoute: RestRoute = (app, deps) => {
  app.post(
    '/v2/templates',
    {
      schema: {
        operationId: 'createTemplate',
        summary: 'Create a template',
        tags: ['templates'],
        body: ref(CreateTemplateRequest),
        response: { 201: ref(TemplateResponse) },
      },
      config: { permission: PERMISSIONS.writeTemplate },
    },
    async (request, reply) => {
      const record = await createTemplate(deps, request.actor, toNewTemplate(request.body));
      return reply.code(201).send(toTemplateResponse(record));
    },
  );
};
