import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { eventStreamSchema, sendEventStream } from '../live/event-stream.ts';
import { PERMISSIONS, type RestRoute } from '../shared/rest-app.ts';
import { readFilter, scopeOfEndpoint } from './log-query.ts';
import { EndpointLogQuery, LogHeaders } from './log-schemas.ts';
import { readLogStart, streamLog } from './log-stream.ts';

const LOG_EVENTS = eventStreamSchema(
  'Server-sent events, one per line; `data` has `source`, `line`, `ts`, `level` (or null) and `workerId`. An event named `stopped` says how far a search for the last lines came: `searchedTo` and `nextCursor`, as in a page of lines.',
  ': stream begins\n\nid: 2026-11-20T10:02:19.481Z/000000000041\ndata: {"source":"container","line":"model loaded","ts":"2026-11-20T10:02:19.481Z","level":null,"workerId":"w9h3s6d1f8g2jk"}\n\n',
);

export const getEndpointLogsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/logs',
    {
      exposeHeadRoute: false, // a HEAD request would keep reading the log
      schema: {
        operationId: 'getEndpointLogs',
        summary: 'Stream the logs of all workers of an endpoint',
        description:
          'Podyard only. The lines of all workers together, ended ones included, in the order in which they were stored.',
        tags: ['podyard'],
        params: EndpointParams,
        querystring: EndpointLogQuery,
        headers: LogHeaders,
        response: { 200: LOG_EVENTS },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['badRequest', 'notFound', 'unprocessable'] },
    },
    async ({ actor, params, query, headers }, reply) => {
      const start = readLogStart(headers['last-event-id'], query);
      const scope = await scopeOfEndpoint(deps, actor.userId, params.id, query.workerId);
      const log = { scope, start, filter: readFilter(query), extras: ['level', 'workerId'] as const };
      return sendEventStream(
        reply,
        streamLog(deps, { socket: reply.raw, keyId: actor.keyId, userId: actor.userId }, log),
      );
    },
  );
};
