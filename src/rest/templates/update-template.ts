import type { TemplateId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { updateTemplate } from '../../domain/templates/change-template.ts';
import { EnvQuery, editEnv } from '../shared/env-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import {
  TemplateParams,
  TemplateResponse,
  type TemplateWire,
  toTemplateChange,
  toTemplateResponse,
  UpdateTemplateRequest,
} from './template-wire.ts';

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
          querystring: EnvQuery,
          body: ref(UpdateTemplateRequest),
          response: { 200: ref(TemplateResponse) },
        },
        config: { permission: PERMISSIONS.writeTemplate, failures: ['notFound'] },
      },
      async (request) => {
        const { actor, body, params, query } = request;
        const template = await change(deps, actor, updateTemplate, {
          id: params.id as TemplateId,
          update: (before) => editEnv(toTemplateChange(body), before, query),
        });
        return toTemplateResponse(wire, template);
      },
    );
  };
