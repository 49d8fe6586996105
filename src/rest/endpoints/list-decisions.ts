import type { EndpointId } from '../../core/ids.ts';
import { listDecisions } from '../../domain/decisions/record-decision.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { DecisionList, DecisionQuery } from './decision-schemas.ts';
import { EndpointParams } from './endpoint-schemas.ts';

const DEFAULT_LIMIT = 20;

export const listDecisionsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/decisions',
    {
      schema: {
        operationId: 'listDecisions',
        summary: 'List scaling decisions of an endpoint',
        description:
          'Podyard only. Returns the latest decisions that changed something, with their reasons: every start, freeze, thaw and end of a worker, also those that the scaler did not decide, such as a preemption or a crash.',
        tags: ['serverless', 'podyard'],
        params: EndpointParams,
        querystring: DecisionQuery,
        response: { 200: ref(DecisionList) },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound', 'unprocessable'] },
    },
    async (request) => {
      const { limit = DEFAULT_LIMIT } = request.query;
      const id = request.params.id as EndpointId;
      const decisions = await listDecisions(deps.pool, request.actor.userId, id, limit);
      return {
        decisions: decisions.map(({ at, inputs, actions, ...decision }) => ({
          ...decision,
          at: at.toISOString(),
          inputs: { ...inputs },
          actions: actions.map((action) => ({ ...action, cause: action.cause ?? null })),
        })),
      };
    },
  );
};
