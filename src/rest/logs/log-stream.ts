import { Failure } from '../../core/errors.ts';
import { takeTurn } from '../../core/flow/turns.ts';
import { escapeUnit } from '../../core/text/ascii-json.ts';
import { followLog, type LogBatch, type LogStart } from '../../domain/logs/follow-log.ts';
import { formatEventId, type LogEntry, parseEventId } from '../../domain/logs/log-line.ts';
import type { LogScope } from '../../domain/logs/log-scope.ts';
import type { LogFilter } from '../../domain/logs/read-log.ts';
import { COMMENT_EVERY_MS, type StreamClient, whileConnected } from '../live/event-stream.ts';
import type { RouteDeps } from '../shared/rest-app.ts';

const DEFAULT_TAIL = 100;
/** Lines of a large batch that are rendered in one turn: a fraction of a millisecond. */
const LINES_IN_A_TURN = 100;
/** Unicode line ends that the event stream format doesn't know, but some clients split at. */
const ODD_LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** Returns where to start: after the last event seen, else at a time, else with the last lines. */
export function readLogStart(lastEventId: string | undefined, query: { tail?: number; since?: string }): LogStart {
  if (lastEventId !== undefined && lastEventId !== '') {
    const position = parseEventId(lastEventId);
    if (!position) throw new Failure('badRequest', 'Last-Event-ID must be an event id of this stream or a timestamp');
    return position;
  }
  if (query.since !== undefined) return { since: new Date(query.since) };
  return { tail: query.tail ?? DEFAULT_TAIL };
}

/** Fields of an event beside those of the public API. */
export type LogExtras = readonly ('level' | 'workerId')[];

/**
 * Streams a log as server-sent events (docs/interface/rest.md, "Log streams") until the client disconnects or its key ends. With
 * backpressure: nothing is read from the database ahead of the client.
 */
export function streamLog(
  deps: RouteDeps,
  client: StreamClient,
  log: { scope: LogScope; start: LogStart; filter: LogFilter; extras: LogExtras },
): AsyncGenerator<string> {
  const sources = { db: deps.pool, bus: deps.bus, search: deps.logSearches.of(client.actor.userId) };
  return whileConnected(deps, client, async function* (signal) {
    let comment = ': stream begins\n\n'; // at once: a search may take a second before its first line
    for await (const { lines, stoppedAt } of followLog(sources, { ...log, quietMs: COMMENT_EVERY_MS, signal })) {
      if (stoppedAt) yield formatStop(stoppedAt);
      else if (lines.length === 0) yield comment;
      comment = ': still here\n\n';
      for (let at = 0; at < lines.length; at += LINES_IN_A_TURN) {
        if (lines.length > LINES_IN_A_TURN) await takeTurn(client.actor.userId);
        const some = lines.slice(at, at + LINES_IN_A_TURN);
        yield some.map((line) => formatEvent(line, log.extras)).join('');
      }
    }
  });
}

function formatStop(stoppedAt: NonNullable<LogBatch['stoppedAt']>): string {
  const data = { searchedTo: stoppedAt.ts.toISOString(), nextCursor: formatEventId(stoppedAt) };
  return `event: stopped\ndata: ${JSON.stringify(data)}\n\n`;
}

function formatEvent(line: LogEntry, extras: LogExtras): string {
  const data = {
    source: line.source,
    line: line.line,
    ts: line.ts.toISOString(),
    ...(extras.includes('level') ? { level: line.level } : {}),
    ...(extras.includes('workerId') ? { workerId: line.workloadId } : {}),
  };
  return `id: ${formatEventId(line)}\ndata: ${JSON.stringify(data).replace(ODD_LINE_ENDS, escapeUnit)}\n\n`;
}
