import type { TemplateId } from '../../core/ids.ts';
import { getTemplateRow } from '../../domain/templates/template-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { TemplateParams, TemplateResponse } from './template-schemas.ts';
import { toTemplateResponse } from './template-wire.ts';

export const getTemplateRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/templates/:id',
    {
      schema: {
        operationId: 'getTemplate',
        summary: 'Get a template',
        tags: ['templates'],
        params: TemplateParams,
        response: { 200: ref(TemplateResponse) },
      },
      config: { permission: PERMISSIONS.readTemplate, failures: ['notFound'] },
    },
    async (request) =>
      toTemplateResponse(await getTemplateRow(deps.pool, request.actor.userId, request.params.id as TemplateId)),
  );
};
