import type { TemplateId } from '../../core/ids.ts';
import { getReadableTemplate } from '../../domain/templates/template-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { TemplateParams, TemplateResponse, type TemplateWire, toTemplateResponse } from './template-wire.ts';

export const getTemplateRoute =
  (wire: TemplateWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/templates/:id',
      {
        schema: {
          operationId: 'getTemplate',
          summary: 'Get a template',
          description: 'Your own, or another user’s public one, which is shown without its registry.',
          tags: ['templates'],
          params: TemplateParams,
          response: { 200: ref(TemplateResponse) },
        },
        config: { permission: PERMISSIONS.readTemplate, failures: ['notFound'] },
      },
      async (request) =>
        toTemplateResponse(
          wire,
          await getReadableTemplate(deps.pool, request.actor.userId, request.params.id as TemplateId),
        ),
    );
  };
