import { eventStreamSchema, sendEventStream } from '../live/event-stream.ts';
import { readFilter, scopeOfEndpoint } from '../logs/log-query.ts';
import { LogHeaders, LogQuery } from '../logs/log-schemas.ts';
import { readLogStart, streamLog } from '../logs/log-stream.ts';
import { includes } from '../shared/include-query.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { WorkerParams } from './worker-schemas.ts';

const LOG_EVENTS = eventStreamSchema(
  'Server-sent events, one per line; `data` has `source`, `line` and `ts`.',
  ': stream begins\n\nid: 2026-11-20T10:02:19.481Z/000000000041\ndata: {"source":"container","line":"model loaded","ts":"2026-11-20T10:02:19.481Z"}\n\n',
);

export const getWorkerLogsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/workers/:workerId/logs',
    {
      exposeHeadRoute: false, // a HEAD request would keep reading the log
      schema: {
        operationId: 'getWorkerLogs',
        summary: 'Stream the log of a worker',
        tags: ['serverless'],
        params: WorkerParams,
        querystring: LogQuery,
        headers: LogHeaders,
        response: { 200: LOG_EVENTS },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['badRequest', 'notFound', 'unprocessable'] },
    },
    async ({ actor, params, query, headers }, reply) => {
      const start = readLogStart(headers['last-event-id'], query);
      const scope = await scopeOfEndpoint(deps, actor.userId, params.id, params.workerId);
      const extras = includes(query, 'LEVEL') ? (['level'] as const) : [];
      const log = { scope, start, filter: readFilter(query), extras };
      return sendEventStream(
        reply,
        streamLog(deps, { socket: reply.raw, keyId: actor.keyId, userId: actor.userId }, log),
      );
    },
  );
};
