import { Type } from 'typebox';
import type { RestRoute } from '../shared/rest-app.ts';

/** Alive: the process answers. It says nothing of the database, so that a restart is not the answer to its absence. */
export const getHealthRoute: RestRoute = (app) => {
  app.get(
    '/healthz',
    {
      schema: {
        operationId: 'getHealth',
        summary: 'Whether the process is alive',
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
