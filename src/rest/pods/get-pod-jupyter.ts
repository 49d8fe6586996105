import type { PodId } from '../../core/ids.ts';
import { findJupyterPassword } from '../../domain/pods/jupyter-password.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { PodJupyter, PodParams } from './pod-schemas.ts';

export const getPodJupyterRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/pods/:id/jupyter',
    {
      schema: {
        operationId: 'getPodJupyter',
        summary: 'Get the Jupyter password of a pod',
        description: 'Podyard only. Needs write access to the pod: a person who signs in runs programs in it.',
        tags: ['pods', 'podyard'],
        params: PodParams,
        response: { 200: ref(PodJupyter) },
      },
      config: { permission: PERMISSIONS.writePod, failures: ['notFound'] },
    },
    async (request) => ({
      password: await findJupyterPassword(deps, request.actor.userId, request.params.id as PodId),
    }),
  );
};
