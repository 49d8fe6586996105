import { Type } from 'typebox';
import type { RestRoute } from '../shared/rest-app.ts';

/** Ready: requests can be served, which needs the database and a process that is not about to end. */
export const getReadinessRoute: RestRoute = (app, deps) => {
  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'getReadiness',
        summary: 'Whether requests can be served',
        tags: ['podyard'],
        security: [],
        response: {
          200: Type.Object({ status: Type.String() }, { description: 'Ready.', examples: [{ status: 'ready' }] }),
        },
      },
      config: { permission: 'public', failures: ['unavailable'] },
    },
    async () => {
      await deps.readiness.check();
      return { status: 'ready' };
    },
  );
};
