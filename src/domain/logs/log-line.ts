import type { LogLevel } from './log-level.ts';

export type LogSource = 'container' | 'system';

/** A stored line; `seq` ascends in the order of storing. */
interface StoredLogLine {
  seq: number;
  ts: Date;
  source: LogSource;
  line: string;
}

/** A line with the worker or pod that wrote it. */
export interface LogEntry extends StoredLogLine {
  workloadId: string;
  /** Null: none was recognized. */
  level: LogLevel | null;
}

/** Where to resume a log: after a stored line, or after (not at) a time. */
export type LogPosition = { afterSeq: number } | { afterTs: Date };

const EVENT_ID = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))(?:\/(\d{12,16}))?$/i;

/**
 * `<RFC 3339 timestamp>/<12-digit sequence>`: what a client sends back to go on after this line
 * (docs/interface/rest.md, "Log streams").
 */
export function formatEventId(line: { seq: number; ts: Date }): string {
  return `${line.ts.toISOString()}/${String(line.seq).padStart(12, '0')}`;
}

/** Parses what `formatEventId` wrote, or a bare timestamp; undefined for anything else. */
export function parseEventId(text: string): LogPosition | undefined {
  const [, timestamp, sequence] = EVENT_ID.exec(text) ?? [];
  if (timestamp === undefined || Number.isNaN(Date.parse(timestamp))) return undefined;
  return sequence === undefined ? { afterTs: new Date(timestamp) } : { afterSeq: Number(sequence) };
}
