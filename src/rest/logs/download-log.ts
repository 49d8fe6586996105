import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { monotonicClock } from '../../core/clock.ts';
import type { UserId } from '../../core/ids.ts';
import type { Actor } from '../../domain/access/actor.ts';
import type { LogEntry } from '../../domain/logs/log-line.ts';
import { type LogScope, lastLogSeq } from '../../domain/logs/log-scope.ts';
import type { LogFilter } from '../../domain/logs/read-log.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { whileConnected } from '../live/event-stream.ts';
import { PodParams } from '../pods/pod-schemas.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { Type } from '../shared/type.ts';
import { readRange, scopeOfEndpoint, scopeOfPod } from './log-query.ts';
import { EndpointLogDownloadQuery, LogDownloadQuery } from './log-schemas.ts';

/** Lines of one read: as many bytes as a few of them wait for a slow client. */
const PORTION = 500;

const TEXT = {
  description: 'The lines that match all filters, oldest first, each with its time; without a limit.',
  content: {
    'text/plain': {
      schema: Type.Unsafe<Readable>({ type: 'string' }),
      example: '2026-11-20T10:02:19.481Z w9h3s6d1f8g2jk model loaded\n',
    },
  },
};

export const logDownloadRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/logs/download', {
    exposeHeadRoute: false, // a HEAD request would read the whole log
    schema: {
      operationId: 'downloadEndpointLog',
      summary: 'Download the logs of the workers of an endpoint',
      description: 'Podyard only. Text, with the id of its worker in each line unless one worker is asked for.',
      tags: ['podyard'],
      params: EndpointParams,
      querystring: EndpointLogDownloadQuery,
      response: { 200: TEXT },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['notFound', 'unprocessable'] },
    handler: async ({ actor, params, query }, reply) => {
      const scope = await scopeOfEndpoint(deps, actor.userId, params.id, query.workerId);
      return send(deps, reply, actor, { scope, filter: readRange(query), name: query.workerId ?? params.id });
    },
  });

  app.get('/v2/pods/:id/logs/download', {
    exposeHeadRoute: false, // a HEAD request would read the whole log
    schema: {
      operationId: 'downloadPodLog',
      summary: 'Download the log of a pod',
      description: 'Podyard only.',
      tags: ['podyard'],
      params: PodParams,
      querystring: LogDownloadQuery,
      response: { 200: TEXT },
    },
    config: { permission: PERMISSIONS.readPod, failures: ['notFound', 'unprocessable'] },
    handler: async ({ actor, params, query }, reply) => {
      const scope = await scopeOfPod(deps, actor.userId, params.id);
      return send(deps, reply, actor, { scope, filter: readRange(query), name: params.id });
    },
  });
};

interface Download {
  scope: LogScope;
  filter: LogFilter;
  /** The name of the file, without `.log`. An id that exists, so it needs no quoting. */
  name: string;
}

function send(deps: RouteDeps, reply: FastifyReply, actor: Actor, download: Download): FastifyReply {
  reply.headers({
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': `attachment; filename="${download.name}.log"`,
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  const { userId } = actor;
  const text = whileConnected(deps, { socket: reply.raw, actor }, (signal) => readText(deps, userId, download, signal));
  return reply.send(Readable.from(text, { objectMode: false }));
}

/** Yields the log as it is now, portion by portion: nothing is read ahead of the client. */
async function* readText(
  { pool: db, logSearches }: RouteDeps,
  userId: UserId,
  { scope, filter }: Download,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const before = (await lastLogSeq(db, scope)) + 1;
  const sources = { db, clock: monotonicClock };
  const search = logSearches.of(userId);
  for (let after = 0; !signal.aborted; ) {
    const page = await search(sources, { scope, filter, order: 'oldest', after, before, limit: PORTION });
    if (page.lines.length > 0) yield page.lines.map((line) => toText(line, scope)).join('');
    if (page.next === null) return;
    after = page.next.seq;
  }
}

function toText({ ts, workloadId, line }: LogEntry, scope: LogScope): string {
  return `${ts.toISOString()} ${'endpointId' in scope ? `${workloadId} ` : ''}${line}\n`;
}
