import { checkOperator } from '../../domain/access/check-operator.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { HistoryResponse, InstallationHistoryQuery } from './history-schemas.ts';
import { historyResponse } from './history-wire.ts';

export const getInstallationHistoryRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/installation/history',
    {
      schema: {
        operationId: 'getInstallationHistory',
        summary: 'Get the history of the installation',
        description:
          'Podyard only, for the operator. Returns what all endpoints did, or those on one GPU pool: per minute for 24 hours and per hour for 30 days.',
        tags: ['podyard'],
        querystring: InstallationHistoryQuery,
        response: { 200: ref(HistoryResponse) },
      },
      config: { permission: PERMISSIONS.readAccount, failures: ['badRequest', 'unprocessable'] },
    },
    async ({ actor, query }) => {
      await checkOperator(deps.pool, actor.userId);
      const { pool } = query;
      return historyResponse(
        deps,
        pool === undefined ? { kind: 'INSTALLATION', subject: '' } : { kind: 'POOL', subject: pool },
        query,
      );
    },
  );
};
