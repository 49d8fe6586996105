import { Failure } from '../../core/errors.ts';
import { followLog, type LogStart } from '../../domain/logs/follow-log.ts';
import { formatEventId, type LogSource, parseEventId, type StoredLogLine } from '../../domain/logs/log-line.ts';
import { COMMENT_EVERY_MS, type StreamClient, whileConnected } from './event-stream.ts';
import type { RouteDeps } from './rest-app.ts';

const DEFAULT_TAIL = 100;
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

/**
 * Streams a log as server-sent events (docs/interface/rest.md, "Log streams") until the client disconnects or its key ends. With
 * backpressure: nothing is read from the database ahead of the client.
 */
export function streamLog(
  deps: RouteDeps,
  client: StreamClient,
  log: { workloadId: string; start: LogStart; source: LogSource | undefined },
): AsyncGenerator<string> {
  const sources = { db: deps.pool, bus: deps.bus };
  return whileConnected(deps, client, async function* (signal) {
    let hasBegun = false;
    for await (const lines of followLog(sources, { ...log, quietMs: COMMENT_EVERY_MS, signal })) {
      const comment = hasBegun ? ': still here\n\n' : ': stream begins\n\n';
      hasBegun = true;
      yield lines.length === 0 ? comment : lines.map(formatEvent).join('');
    }
  });
}

function formatEvent(line: StoredLogLine): string {
  const data = { source: line.source, line: line.line, ts: line.ts.toISOString() };
  return `id: ${formatEventId(line)}\ndata: ${JSON.stringify(data).replace(ODD_LINE_ENDS, escapeCharacter)}\n\n`;
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
