import type { Permission } from '../../domain/access/actor.ts';
import { listPodRows } from '../../domain/pods/pod-store.ts';
import { eventStreamSchema, sendEventStream, streamFeed } from '../live/event-stream.ts';
import type { RestRoute } from '../shared/rest-app.ts';
import { type PodWire, readPodResponses } from './pod-wire.ts';

const SNAPSHOTS = eventStreamSchema(
  'Server-sent events `snapshot`, one per change: the current `pods`, as the list returns them with `include=REASON`. Live figures change every second.',
  ': stream begins\n\nevent: snapshot\ndata: {"pods":[]}\n\n',
);

export const watchPodsRoute =
  (wire: PodWire): RestRoute =>
  (app, deps) => {
    app.get(
      '/v2/pods/live',
      {
        exposeHeadRoute: false, // a HEAD request would keep watching
        schema: {
          operationId: 'watchPods',
          summary: 'Watch all pods',
          description: 'Podyard only. Streams the current state of all pods of the account.',
          tags: ['podyard'],
          response: { 200: SNAPSHOTS },
        },
        // It covers every pod: a key restricted to some is not enough.
        config: { permission: (): Permission => ({ area: 'pods', access: 'read' }) },
      },
      async (request, reply) => {
        const { userId } = request.actor;
        await deps.live.openings.enter(userId);
        const feed = deps.live.watch('pods', userId, () => async () => {
          const rows = await listPodRows(deps.pool, userId);
          const pods = await readPodResponses(deps, wire, rows);
          return JSON.stringify({ pods: pods.map((pod, n) => ({ ...pod, reason: rows[n]!.statusReason })) });
        });
        return sendEventStream(reply, streamFeed(deps, { socket: reply.raw, keyId: request.actor.keyId }, feed));
      },
    );
  };
