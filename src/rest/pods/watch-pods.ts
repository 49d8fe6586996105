import type { Permission } from '../../domain/access/actor.ts';
import { listPodRows } from '../../domain/pods/pod-store.ts';
import { eventStreamSchema, sendEventStream, streamFeed } from '../shared/event-stream.ts';
import type { RestRoute } from '../shared/rest-app.ts';
import { readPodResponses } from './pod-wire.ts';

const SNAPSHOTS = eventStreamSchema(
  'Server-sent events `snapshot`: the present `pods`, as the list shows them, each time they change; their live figures change each second.',
  ': stream begins\n\nevent: snapshot\ndata: {"pods":[]}\n\n',
);

export const watchPodsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/pods/live',
    {
      exposeHeadRoute: false, // it would watch for nobody
      schema: {
        operationId: 'watchPods',
        summary: 'Watch all pods live',
        description: "Podyard's own (ext).",
        tags: ['podyard'],
        response: { 200: SNAPSHOTS },
      },
      // It tells of every pod: a key for some of them is not enough.
      config: { permission: (): Permission => ({ area: 'pods', access: 'read' }) },
    },
    async (request, reply) => {
      const { userId } = request.actor;
      const feed = deps.live.watch('pods', userId, () => async () => {
        const pods = await readPodResponses(deps, await listPodRows(deps.pool, userId));
        return JSON.stringify({ pods });
      });
      return sendEventStream(reply, streamFeed(feed, deps.closing, reply.raw));
    },
  );
};
