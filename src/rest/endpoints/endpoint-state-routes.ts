import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { listDecisions } from '../../domain/decisions/record-decision.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { getEndpointFigures, listEndpointFigures } from '../../domain/endpoints/list-endpoint-figures.ts';
import { getEndpointState } from '../../domain/endpoints/list-endpoint-states.ts';
import { eventStreamSchema, sendFeed } from '../live/event-stream.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { DecisionList, DecisionQuery } from './decision-schemas.ts';
import { EndpointParams } from './endpoint-schemas.ts';
import { endpointSnapshotReader } from './endpoint-snapshot.ts';
import { EndpointFiguresList, EndpointFiguresQuery, MAX_FIGURE_IDS, toFiguresResponse } from './figure-schemas.ts';
import { EndpointStateResponse, toStateResponse } from './state-schemas.ts';

const DEFAULT_LIMIT = 20;

const SNAPSHOTS = eventStreamSchema(
  'Server-sent events `snapshot`, one per change: the current `state` (with `since` and `reason`), `jobs`, the `queueLimit` of its queue with the `reason` (null for load balancing), load-balanced `requests`, `workers`, `summary`, `endpointVersion` and `rollout`. `times` has the p50 and p95 latencies, in ms, of jobs that ended in this process since the last snapshot. The stream ends when the endpoint is deleted.',
  ': stream begins\n\nevent: snapshot\ndata: {"state":{"state":"HEALTHY","since":null,"reason":null},"jobs":{"completed":12,"failed":0,"inProgress":1,"inQueue":0,"retried":0},"queueLimit":{"jobs":500,"reason":"workers.max 1: 500 for each worker"},"requests":{"held":0,"inFlight":0},"workers":[],"summary":{"running":0,"idle":0,"initializing":0,"throttled":0,"unhealthy":0,"total":0},"endpointVersion":1,"rollout":{"inProgress":false,"workersOnLatest":0,"workersTotal":0,"percentOnLatest":0,"paused":false},"times":null}\n\n',
);

export const endpointStateRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/state', {
    schema: {
      operationId: 'getEndpointState',
      summary: 'Get the state of an endpoint',
      description: 'Podyard only. Returns whether the endpoint is well, and if not, since when and why.',
      tags: ['serverless', 'podyard'],
      params: EndpointParams,
      response: { 200: ref(EndpointStateResponse) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    handler: async (request) => {
      const id = request.params.id as EndpointId;
      const state = await getEndpointState(deps.pool, request.actor.userId, id, deps.clock.now());
      return { id, ...toStateResponse(state) };
    },
  });

  app.get('/v2/serverless/:id/decisions', {
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
    handler: async (request) => {
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
  });

  app.get('/v2/serverless/figures', {
    schema: {
      operationId: 'listEndpointFigures',
      summary: 'List what endpoints do',
      description:
        'Podyard only. Returns the state, the work, the last hour and the cost of today of endpoints, for a list to watch. Identifiers that are not of the account’s endpoints are left out.',
      tags: ['serverless', 'podyard'],
      querystring: EndpointFiguresQuery,
      response: { 200: ref(EndpointFiguresList) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['badRequest', 'unprocessable'] },
    handler: async ({ actor, query }) => {
      const { pool, clock } = deps;
      const ids = query.ids?.split(',').filter((id) => id !== '') as EndpointId[] | undefined;
      if (ids && ids.length > MAX_FIGURE_IDS) {
        throw new Failure('badRequest', `ids: ${ids.length} identifiers; at most ${MAX_FIGURE_IDS} are allowed`);
      }
      const figures = ids
        ? await getEndpointFigures(pool, actor.userId, ids, clock.now())
        : await listEndpointFigures(pool, actor.userId, clock.now());
      return { figures: figures.map(toFiguresResponse) };
    },
  });

  app.get('/v2/serverless/:id/live', {
    exposeHeadRoute: false, // a HEAD request would keep watching
    schema: {
      operationId: 'watchEndpoint',
      summary: 'Watch an endpoint',
      description: 'Podyard only. Streams the endpoint’s current state.',
      tags: ['podyard'],
      params: EndpointParams,
      response: { 200: SNAPSHOTS },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound'] },
    handler: async (request, reply) => {
      const { userId } = request.actor;
      await deps.live.openings.enter(userId);
      const { id } = await getEndpointRow(deps.pool, userId, request.params.id as EndpointId);
      const feed = deps.live.watch('endpoint', id, () => endpointSnapshotReader(deps, userId, id));
      return sendFeed(deps, reply, request.actor, feed);
    },
  });
};
