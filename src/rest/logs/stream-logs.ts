import type { FastifyReply } from 'fastify';
import type { Actor } from '../../domain/access/actor.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { eventStreamSchema, sendEventStream } from '../live/event-stream.ts';
import { PodParams } from '../pods/pod-schemas.ts';
import { includes } from '../shared/include-query.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { WorkerParams } from '../workers/worker-schemas.ts';
import { readFilter, scopeOfEndpoint, scopeOfPod } from './log-query.ts';
import { EndpointLogQuery, LogHeaders, LogQuery } from './log-schemas.ts';
import { readLogStart, streamLog } from './log-stream.ts';

const LOG_EVENTS = eventStreamSchema(
  'Server-sent events, one per line; `data` has `source`, `line` and `ts`.',
  ': stream begins\n\nid: 2026-11-20T10:02:19.481Z/000000000041\ndata: {"source":"container","line":"model loaded","ts":"2026-11-20T10:02:19.481Z"}\n\n',
);

const ENDPOINT_EVENTS = eventStreamSchema(
  'Server-sent events, one per line; `data` has `source`, `line`, `ts`, `level` (or null) and `workerId`. An event named `stopped` says how far a search for the last lines came: `searchedTo` and `nextCursor`, as in a page of lines.',
  ': stream begins\n\nid: 2026-11-20T10:02:19.481Z/000000000041\ndata: {"source":"container","line":"model loaded","ts":"2026-11-20T10:02:19.481Z","level":null,"workerId":"w9h3s6d1f8g2jk"}\n\n',
);

export const logStreamRoutes: RestRoute = (app, deps) => {
  app.get('/v2/pods/:id/logs', {
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
    handler: async ({ actor, params, query, headers }, reply) => {
      const start = readLogStart(headers['last-event-id'], query);
      const scope = await scopeOfPod(deps, actor.userId, params.id);
      const extras = includes(query, 'LEVEL') ? (['level'] as const) : [];
      const log = { scope, start, filter: readFilter(query), extras };
      return send(deps, reply, actor, log);
    },
  });

  app.get('/v2/serverless/:id/workers/:workerId/logs', {
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
    handler: async ({ actor, params, query, headers }, reply) => {
      const start = readLogStart(headers['last-event-id'], query);
      const scope = await scopeOfEndpoint(deps, actor.userId, params.id, params.workerId);
      const extras = includes(query, 'LEVEL') ? (['level'] as const) : [];
      const log = { scope, start, filter: readFilter(query), extras };
      return send(deps, reply, actor, log);
    },
  });

  app.get('/v2/serverless/:id/logs', {
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
      response: { 200: ENDPOINT_EVENTS },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['badRequest', 'notFound', 'unprocessable'] },
    handler: async ({ actor, params, query, headers }, reply) => {
      const start = readLogStart(headers['last-event-id'], query);
      const scope = await scopeOfEndpoint(deps, actor.userId, params.id, query.workerId);
      const log = { scope, start, filter: readFilter(query), extras: ['level', 'workerId'] as const };
      return send(deps, reply, actor, log);
    },
  });
};

function send(deps: RouteDeps, reply: FastifyReply, actor: Actor, log: Parameters<typeof streamLog>[2]) {
  return sendEventStream(reply, streamLog(deps, { socket: reply.raw, actor }, log));
}
