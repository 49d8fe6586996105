import { Type } from 'typebox';
import { Failure } from '../../core/errors.ts';
import type { RestRoute } from '../rest-app.ts';

/** Ready: requests can be served, which needs the database. */
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
      await deps.pool.query('select 1').catch((cause) => {
        throw new Failure('unavailable', 'The database is not reachable.', { cause });
      });
      return { status: 'ready' };
    },
  );
};
