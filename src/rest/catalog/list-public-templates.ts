import { listPublicTemplates } from '../../domain/templates/template-store.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { TemplateList, type TemplateWire, toTemplateResponse } from '../templates/template-wire.ts';
import { MAX_TEMPLATES, PublicTemplateQuery } from './catalog-schemas.ts';
import { toTemplateSources } from './catalog-wire.ts';

export const listPublicTemplatesRoute =
  (wire: TemplateWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/catalog/templates',
      {
        schema: {
          operationId: 'listPublicTemplates',
          summary: 'List public templates',
          description:
            'The installation’s own first, then verified ones, then those of other users; of each, those used last first.',
          tags: ['catalog'],
          querystring: PublicTemplateQuery,
          response: { 200: ref(TemplateList) },
        },
        config: { permission: PERMISSIONS.readCatalog, failures: ['unprocessable'] },
      },
      async (request) => {
        const sources = toTemplateSources(request.query);
        const query = { sources, limit: MAX_TEMPLATES };
        const templates = await listPublicTemplates(deps.pool, request.actor.userId, query);
        return { templates: templates.map((template) => toTemplateResponse(wire, template)) };
      },
    );
  };
