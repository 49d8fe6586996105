import type { EndpointId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { eventStreamSchema, sendEventStream, streamFeed } from '../live/event-stream.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { EndpointParams } from './endpoint-schemas.ts';
import { endpointSnapshotReader } from './endpoint-snapshot.ts';

const SNAPSHOTS = eventStreamSchema(
  'Server-sent events `snapshot`, one per change: the current `state` (with `since` and `reason`), `jobs`, the `queueLimit` of its queue with the `reason` (null for load balancing), load-balanced `requests`, `workers`, `summary`, `endpointVersion` and `rollout`. `times` has the p50 and p95 latencies, in ms, of jobs that ended in this process since the last snapshot. The stream ends when the endpoint is deleted.',
  ': stream begins\n\nevent: snapshot\ndata: {"state":{"state":"HEALTHY","since":null,"reason":null},"jobs":{"completed":12,"failed":0,"inProgress":1,"inQueue":0,"retried":0},"queueLimit":{"jobs":500,"reason":"workers.max 1: 500 for each worker"},"requests":{"held":0,"inFlight":0},"workers":[],"summary":{"running":0,"idle":0,"initializing":0,"throttled":0,"unhealthy":0,"total":0},"endpointVersion":1,"rollout":{"inProgress":false,"workersOnLatest":0,"workersTotal":0,"percentOnLatest":0,"paused":false},"times":null}\n\n',
);

export const watchEndpointRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/live',
    {
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
    },
    async (request, reply) => {
      const { userId } = request.actor;
      await deps.live.openings.enter(userId);
      const { id } = await getEndpointRow(deps.pool, userId, request.params.id as EndpointId);
      const feed = deps.live.watch('endpoint', id, () => endpointSnapshotReader(deps, userId, id));
      return sendEventStream(reply, streamFeed(deps, { socket: reply.raw, keyId: request.actor.keyId }, feed));
    },
  );
};
