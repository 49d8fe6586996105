import { monotonicClock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { takeTurn } from '../../core/flow/turns.ts';
import type { UserId } from '../../core/ids.ts';
import { readLogRecord } from '../../core/text/log-record.ts';
import type { LogLevel } from '../../domain/logs/log-level.ts';
import { formatEventId, type LogEntry, type LogSource, parseEventId } from '../../domain/logs/log-line.ts';
import type { LogScope } from '../../domain/logs/log-scope.ts';
import { findKeptSince } from '../../domain/logs/log-segments.ts';
import { EndpointParams } from '../endpoints/endpoint-schemas.ts';
import { PodParams } from '../pods/pod-schemas.ts';
import { includes } from '../shared/include-query.ts';
import { PERMISSIONS, type RestRoute, type RouteDeps } from '../shared/rest-app.ts';
import { ref } from '../shared/schema.ts';
import { readRange, scopeOfEndpoint, scopeOfPod } from './log-query.ts';
import { EndpointLogLinesQuery, LogLines, LogLinesQuery } from './log-schemas.ts';

const DEFAULT_LIMIT = 200;
/** Lines of JSON that are read in one turn: a line has up to 16 KiB. */
const RECORDS_IN_A_TURN = 20;
const RULES =
  'A page of stored lines that match all filters. One request reads at most 16 MiB of the log and finds at most 4 MiB of text, for about a second at most, and then says how far it came.';

export const logLineRoutes: RestRoute = (app, deps) => {
  app.get('/v2/serverless/:id/log-lines', {
    schema: {
      operationId: 'listEndpointLogLines',
      summary: 'Search the logs of the workers of an endpoint',
      description: `Podyard only. ${RULES}`,
      tags: ['podyard'],
      params: EndpointParams,
      querystring: EndpointLogLinesQuery,
      response: { 200: ref(LogLines) },
    },
    config: { permission: PERMISSIONS.readEndpoint, failures: ['badRequest', 'notFound', 'unprocessable'] },
    handler: async ({ actor, params, query }, { raw: socket }) => {
      const { userId } = actor;
      const scope = await scopeOfEndpoint(deps, userId, params.id, query.workerId);
      return listLines(deps, { userId, socket }, scope, query, true);
    },
  });

  app.get('/v2/pods/:id/log-lines', {
    schema: {
      operationId: 'listPodLogLines',
      summary: 'Search the log of a pod',
      description: `Podyard only. ${RULES}`,
      tags: ['podyard'],
      params: PodParams,
      querystring: LogLinesQuery,
      response: { 200: ref(LogLines) },
    },
    config: { permission: PERMISSIONS.readPod, failures: ['badRequest', 'notFound', 'unprocessable'] },
    handler: async ({ actor, params, query }, { raw: socket }) => {
      const { userId } = actor;
      return listLines(deps, { userId, socket }, await scopeOfPod(deps, userId, params.id), query, false);
    },
  });
};

interface LinesQuery {
  source?: LogSource;
  level?: LogLevel;
  search?: string;
  since?: string;
  until?: string;
  order?: 'newest' | 'oldest';
  limit?: number;
  cursor?: string;
  include?: string;
}

async function listLines(
  { pool, logSearches }: RouteDeps,
  { userId, socket }: { userId: UserId; socket: { closed: boolean } },
  scope: LogScope,
  query: LinesQuery,
  hasWorkers: boolean,
) {
  const order = query.order ?? 'newest';
  const page = await logSearches.of(userId, socket)(
    { db: pool, clock: monotonicClock },
    { scope, filter: readRange(query), order, limit: query.limit ?? DEFAULT_LIMIT, ...readCursor(query.cursor, order) },
  );
  return {
    lines: includes(query, 'RECORD')
      ? await withRecords(userId, page.lines, hasWorkers)
      : page.lines.map(toLine(hasWorkers)),
    nextCursor: page.next && formatEventId(page.next),
    searchedTo: page.isStopped && page.next ? page.next.ts.toISOString() : null,
    keptSince: (await findKeptSince(pool))?.toISOString() ?? null,
  };
}

function toLine(hasWorkers: boolean) {
  return (line: LogEntry) => ({
    id: formatEventId(line),
    workerId: hasWorkers ? line.workloadId : null,
    source: line.source,
    level: line.level,
    line: line.line,
    ts: line.ts.toISOString(),
  });
}

/** Returns lines with what loggers say in them, read a few at a time. */
async function withRecords(userId: UserId, entries: readonly LogEntry[], hasWorkers: boolean) {
  const lines = [];
  for (const [index, entry] of entries.entries()) {
    if (index % RECORDS_IN_A_TURN === 0) await takeTurn(userId);
    const { message, jobId, traceback } = (entry.source === 'container' && readLogRecord(entry.line)) || {};
    lines.push({ ...toLine(hasWorkers)(entry), ...(message !== undefined && { message, jobId, traceback }) });
  }
  return lines;
}

function readCursor(cursor: string | undefined, order: 'newest' | 'oldest'): { after?: number; before?: number } {
  if (cursor === undefined) return {};
  const position = parseEventId(cursor);
  if (!position || !('afterSeq' in position)) {
    throw new Failure('badRequest', "cursor is not the 'nextCursor' of a page, nor the id of a line");
  }
  return order === 'newest' ? { before: position.afterSeq } : { after: position.afterSeq };
}
