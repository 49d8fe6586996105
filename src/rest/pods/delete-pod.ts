import type { PodId } from '../../core/ids.ts';
import { change } from '../../domain/change.ts';
import { terminatePod } from '../../domain/pods/act-on-pod.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { noContent } from '../shared/schema.ts';
import { PodParams } from './pod-schemas.ts';

export const deletePodRoute: RestRoute = (app, deps) => {
  app.delete(
    '/v2/pods/:id',
    {
      schema: {
        operationId: 'deletePod',
        summary: 'Terminate a pod',
        description: 'Deletes its container and its persistent storage. A network volume is only detached.',
        tags: ['pods'],
        params: PodParams,
        response: { 204: noContent('Terminated.') },
      },
      config: { permission: PERMISSIONS.writePod, failures: ['notFound', 'conflict'] },
    },
    async (request, reply) => {
      await change(deps, request.actor, terminatePod, { id: request.params.id as PodId });
      return reply.code(204).send();
    },
  );
};
