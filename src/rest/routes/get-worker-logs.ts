import { Readable } from 'node:stream';
import { Type } from 'typebox';
import type { EndpointId, WorkerId } from '../../core/ids.ts';
import { getEndpointRow } from '../../domain/endpoints/endpoint-store.ts';
import { checkWorkerOfEndpoint } from '../../domain/workers/worker-store.ts';
import { readLogStart, streamLog } from '../log-stream.ts';
import { PERMISSIONS, type RestRoute } from '../rest-app.ts';
import { LogHeaders, LogQuery, WorkerParams } from '../schemas/worker-schemas.ts';

const EventStream = {
  description: 'Server-sent events, one a line; `data` holds `source`, `line` and `ts`.',
  content: {
    'text/event-stream': {
      schema: Type.Unsafe<Readable>({ type: 'string' }),
      example:
        ': stream begins\n\nid: 2026-11-20T10:02:19.481Z/000000000041\ndata: {"source":"container","line":"model loaded","ts":"2026-11-20T10:02:19.481Z"}\n\n',
    },
  },
};

export const getWorkerLogsRoute: RestRoute = (app, deps) => {
  app.get(
    '/v2/serverless/:id/workers/:workerId/logs',
    {
      exposeHeadRoute: false, // it would read the log for nobody
      schema: {
        operationId: 'getWorkerLogs',
        summary: 'Stream the log of a worker',
        tags: ['serverless'],
        params: WorkerParams,
        querystring: LogQuery,
        headers: LogHeaders,
        response: { 200: EventStream },
      },
      config: { permission: PERMISSIONS.readEndpoint, failures: ['badRequest', 'notFound', 'unprocessable'] },
    },
    async (request, reply) => {
      const { userId } = request.actor;
      const start = readLogStart(request.headers['last-event-id'], request.query);
      const endpoint = await getEndpointRow(deps.pool, userId, request.params.id as EndpointId);
      const workloadId = request.params.workerId as WorkerId;
      await checkWorkerOfEndpoint(deps.pool, userId, endpoint.id, workloadId);
      const events = streamLog(deps, { workloadId, start, source: request.query.source, socket: reply.raw });
      reply.headers({ 'cache-control': 'no-cache', 'x-accel-buffering': 'no', 'content-type': 'text/event-stream' });
      return reply.send(Readable.from(events, { objectMode: false }));
    },
  );
};
