import type { EndpointId, WorkerId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { checkWorkerOfEndpoint } from '../../domain/workers/worker-store.ts';
import { eventStreamSchema, sendEventStream } from '../shared/event-stream.ts';
import { LogHeaders, LogQuery } from '../shared/log-schemas.ts';
import { readLogStart, streamLog } from '../shared/log-stream.ts';
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
    async (request, reply) => {
      const { userId, keyId } = request.actor;
      const start = readLogStart(request.headers['last-event-id'], request.query);
      const endpoint = await getEndpointRow(deps.pool, userId, request.params.id as EndpointId);
      const workloadId = request.params.workerId as WorkerId;
      await checkWorkerOfEndpoint(deps.pool, userId, endpoint.id, workloadId);
      const log = { workloadId, start, source: request.query.source };
      return sendEventStream(reply, streamLog(deps, { socket: reply.raw, keyId }, log));
    },
  );
};
