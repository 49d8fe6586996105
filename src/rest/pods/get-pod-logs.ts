import { eventStreamSchema, sendEventStream } from '../live/event-stream.ts';
import { readFilter, scopeOfPod } from '../logs/log-query.ts';
import { LogHeaders, LogQuery } from '../logs/log-schemas.ts';
import { readLogStart, streamLog } from '../logs/log-stream.ts';
import { includes } from '../shared/include-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { PodParams } from './pod-schemas.ts';

export const getPodLogsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/pods/:id/logs',
    {
      exposeHeadRoute: false, // a HEAD request would keep reading the log
      schema: {
        operationId: 'getPodLogs',
        summary: 'Stream the log of a pod',
        tags: ['pods'],
        params: PodParams,
        querystring: LogQuery,
        headers: LogHeaders,
        response: {
          200: eventStreamSchema(
            'Server-sent events, one per line; `data` has `source`, `line` and `ts`.',
            ': stream begins\n\nid: 2026-11-20T10:02:19.481Z/000000000057\ndata: {"source":"container","line":"server is up","ts":"2026-11-20T10:02:19.481Z"}\n\n',
          ),
        },
      },
      config: { permission: PERMISSIONS.readPod, failures: ['badRequest', 'notFound', 'unprocessable'] },
    },
    async ({ actor, params, query, headers }, reply) => {
      const start = readLogStart(headers['last-event-id'], query);
      const scope = await scopeOfPod(deps, actor.userId, params.id);
      const extras = includes(query, 'LEVEL') ? (['level'] as const) : [];
      const log = { scope, start, filter: readFilter(query), extras };
      return sendEventStream(
        reply,
        streamLog(deps, { socket: reply.raw, keyId: actor.keyId, userId: actor.userId }, log),
      );
    },
  );
};
