import type { TemplateId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { deleteTemplate } from '../../domain/templates/change-template.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { TemplateParams } from './template-wire.ts';

export const deleteTemplateRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/templates/:id',
    {
      schema: {
        operationId: 'deleteTemplate',
        summary: 'Delete a template',
        description: 'Refused while pods or endpoints created from it exist.',
        tags: ['templates'],
        params: TemplateParams,
        response: { 204: noContent('Deleted.') },
      },
      config: { permission: PERMISSIONS.writeTemplate, failures: ['badRequest', 'notFound'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, deleteTemplate, { id: request.params.id as TemplateId });
      return reply.code(204).send();
    },
  );
};
