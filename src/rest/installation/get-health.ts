import type { RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';

/** Liveness: the process responds. Independent of the database, since a restart would not bring it back. */
export const getHealthRoute: RestRoute = (app) => {
  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'getHealth',
        summary: 'Check liveness',
        description: 'Responds while the process runs, even without the database.',
        tags: ['podyard'],
        security: [],
        response: {
          200: Type.Object({ status: Type.String() }, { description: 'Alive.', examples: [{ status: 'ok' }] }),
        },
      },
      config: { permission: 'public' },
    },
    async () => ({ status: 'ok' }),
  );
};
