import type { Permission } from '../../domain/access/actor.ts';
import { readAccountActivity } from '../../domain/endpoints/account-activity.ts';
import { eventStreamSchema, sendEventStream, streamFeed } from '../live/event-stream.ts';
import type { RestRoute } from '../shared/rest-app.ts';

const SNAPSHOTS = eventStreamSchema(
  'Server-sent events `snapshot`, one per change: the number of `endpoints`, totals of their `jobs`, load-balanced `requests` and `workers`, and the `active` endpoints with their `state`, at most 100. What is read from the history changes with `historyUntil`, once a minute. `inQueue` and `inProgress` of an active endpoint count its jobs or its requests.',
  ': stream begins\n\nevent: snapshot\ndata: {"endpoints":1,"historyUntil":"2026-11-20T10:02:00.000Z","jobs":{"completed":12,"failed":0,"inProgress":1,"inQueue":0,"retried":0},"requests":{"held":0,"inFlight":0},"workers":{"running":1,"idle":0,"initializing":0,"throttled":0,"unhealthy":0,"total":1},"active":[]}\n\n',
);

export const watchAccountRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/account/live',
    {
      exposeHeadRoute: false, // a HEAD request would keep watching
      schema: {
        operationId: 'watchAccount',
        summary: 'Watch all endpoints',
        description: 'Podyard only. Streams totals over all endpoints of the account.',
        tags: ['podyard'],
        response: { 200: SNAPSHOTS },
      },
      // It covers every endpoint: a key restricted to some is not enough.
      config: { permission: (): Permission => ({ area: 'serverless', access: 'read' }) },
    },
    async (request, reply) => {
      const { userId } = request.actor;
      await deps.live.openings.enter(userId);
      const feed = deps.live.watch('account', userId, () => async () => {
        return JSON.stringify(await readAccountActivity(deps.pool, userId, deps.clock.now()));
      });
      return sendEventStream(reply, streamFeed(deps, { socket: reply.raw, keyId: request.actor.keyId }, feed));
    },
  );
};
