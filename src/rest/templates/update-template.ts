import type { TemplateId } from '../../core/ids.ts';
import { updateTemplate } from '../../domain/templates/update-template.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { TemplateParams, TemplateResponse, UpdateTemplateRequest } from './template-schemas.ts';
import { type TemplateWire, toTemplateChange, toTemplateResponse } from './template-wire.ts';

export const updateTemplateRoute =
  (wire: TemplateWire): RestRoute =>
  (app, deps) => {
    app.patch(
      '/v2/templates/:id',
      {
        schema: {
          operationId: 'updateTemplate',
          summary: 'Update a template',
          description: 'Only the given fields change. Pods and endpoints created from it are not affected.',
          tags: ['templates'],
          params: TemplateParams,
          body: ref(UpdateTemplateRequest),
          response: { 200: ref(TemplateResponse) },
        },
        config: { permission: PERMISSIONS.writeTemplate, failures: ['notFound'] },
      },
      async (request) => {
        const change = toTemplateChange(request.body);
        return toTemplateResponse(
          wire,
          await updateTemplate(deps, request.actor, request.params.id as TemplateId, change),
        );
      },
    );
  };
