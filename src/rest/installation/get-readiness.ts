import type { RestRoute } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';

/** Readiness: the database accepts writes and the process is not shutting down. */
export const getReadinessRoute: RestRoute = (app, deps) => {
  app.get(
    '/readyz',
    {
      schema: {
        operationId: 'getReadiness',
        summary: 'Check readiness',
        description: '503 while the database is unreachable or refuses writes, or the process is shutting down.',
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
