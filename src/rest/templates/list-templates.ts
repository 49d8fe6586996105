import { listTemplateRows } from '../../domain/templates/template-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { TemplateList, type TemplateWire, toTemplateResponse } from './template-wire.ts';

export const listTemplatesRoute =
  (wire: TemplateWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/templates',
      {
        schema: {
          operationId: 'listTemplates',
          summary: 'List templates',
          tags: ['templates'],
          response: { 200: ref(TemplateList) },
        },
        config: { permission: PERMISSIONS.readTemplate },
      },
      async (request) => {
        const records = await listTemplateRows(deps.pool, request.actor.userId);
        return { templates: records.map((template) => toTemplateResponse(wire, template)) };
      },
    );
  };
