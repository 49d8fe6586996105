import type { EndpointId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { HistoryQuery, HistoryResponse } from './history-schemas.ts';
import { historyResponse } from './history-wire.ts';

export const getEndpointHistoryRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/history',
    {
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
    },
    async ({ actor, params, query }) => {
      const { id } = await getEndpointRow(deps.pool, actor.userId, params.id as EndpointId);
      return historyResponse(deps, { kind: 'ENDPOINT', subject: id }, query);
    },
  );
};
