import type { EndpointId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { HistoryQuery, HistoryResponse, InstallationHistoryQuery } from './history-schemas.ts';
import { historyResponse } from './history-wire.ts';

export const historyRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/history', {
    schema: {
      operationId: 'getEndpointHistory',
      summary: 'Get the history of an endpoint',
      description:
        'Podyard only. Returns what the endpoint did, for charts: per minute for 24 hours and per hour for 30 days.',
      tags: ['podyard'],
      params: EndpointParams,
      querystring: HistoryQuery,
      response: { 200: ref(HistoryResponse) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['badRequest', 'notFound', 'unprocessable'] },
    handler: async ({ actor, params, query }) => {
      const { id } = await getEndpointRow(deps.pool, actor.userId, params.id as EndpointId);
      return historyResponse(deps, { kind: 'ENDPOINT', subject: id }, query);
    },
  });

  app.get('/v2/account/installation/history', {
    schema: {
      operationId: 'getInstallationHistory',
      summary: 'Get the history of the installation',
      description:
        'Podyard only, for the operator. Returns what all endpoints did, or those on one GPU pool: per minute for 24 hours and per hour for 30 days.',
      tags: ['podyard'],
      querystring: InstallationHistoryQuery,
      response: { 200: ref(HistoryResponse) },
    },
    config: {
      permission: PERMISSIONS.readAccount,
      operator: 'readInstallation',
      failures: ['badRequest', 'unprocessable'],
    },
    handler: async ({ query }) => {
      const { pool } = query;
      return historyResponse(
        deps,
        pool === undefined ? { kind: 'INSTALLATION', subject: '' } : { kind: 'POOL', subject: pool },
        query,
      );
    },
  });
};
