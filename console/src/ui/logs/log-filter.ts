/** The filter of a log view. It is in the URL, so that a link shows others the same. */
export interface LogFilter {
  workerId: string | null;
  search: string;
  level: LogLevel | null;
  source: 'container' | 'system' | null;
  /** A length of time up to now, or times. */
  range: RelativeRange | null;
  since: string | null;
  until: string | null;
}

export type LogLevel = 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
export type RelativeRange = '15m' | '1h' | '6h' | '24h';

/** The owner of a log: the API's path of an endpoint or a pod. */
export type LogPlace = `/v2/serverless/${string}` | `/v2/pods/${string}`;

export const LEVELS: Readonly<Record<LogLevel, string>> = {
  DEBUG: 'Debug and above',
  INFO: 'Info and above',
  WARN: 'Warnings and errors',
  ERROR: 'Errors',
};
export const RANGES: Readonly<Record<RelativeRange, { label: string; ms: number }>> = {
  '15m': { label: 'Last 15 min', ms: 15 * 60_000 },
  '1h': { label: 'Last hour', ms: 3_600_000 },
  '6h': { label: 'Last 6 h', ms: 6 * 3_600_000 },
  '24h': { label: 'Last 24 h', ms: 24 * 3_600_000 },
};
const SOURCES = ['container', 'system'];

export const NO_FILTER: LogFilter = {
  workerId: null,
  search: '',
  level: null,
  source: null,
  range: null,
  since: null,
  until: null,
};

/** True if anything but the worker is filtered. */
export function isFiltered({ search, level, source, range, since, until }: LogFilter): boolean {
  return search !== '' || [level, source, range, since, until].some((value) => value !== null);
}

/** Reads a filter from the query of the page; parts that are not understood are left out. */
export function readFilter(query: URLSearchParams): LogFilter {
  const oneOf = <T extends string>(name: string, values: readonly string[]) => {
    const value = query.get(name);
    return value !== null && values.includes(value) ? (value as T) : null;
  };
  return {
    workerId: query.get('worker'),
    search: query.get('q') ?? '',
    level: oneOf<LogLevel>('level', Object.keys(LEVELS)),
    source: oneOf<'container' | 'system'>('source', SOURCES),
    range: oneOf<RelativeRange>('range', Object.keys(RANGES)),
    since: readTime(query.get('since')),
    until: readTime(query.get('until')),
  };
}

function readTime(text: string | null): string | null {
  return text === null || Number.isNaN(Date.parse(text)) ? null : new Date(text).toISOString();
}

/** Returns the query of the page with this filter in place of the one it had; other parameters stay. */
export function writeFilter(query: URLSearchParams, filter: LogFilter): URLSearchParams {
  const written = new URLSearchParams(query);
  const values = {
    worker: filter.workerId,
    q: filter.search || null,
    level: filter.level,
    source: filter.source,
    range: filter.range,
    since: filter.since,
    until: filter.until,
  };
  for (const [name, value] of Object.entries(values)) {
    if (value === null) written.delete(name);
    else written.set(name, value);
  }
  return written;
}

/** A filter as the API takes it, its times fixed. */
export type LogQuery = Readonly<Record<string, string>>;

export function toQuery(filter: LogFilter, nowMs: number): LogQuery {
  const since = filter.range ? new Date(nowMs - RANGES[filter.range].ms).toISOString() : filter.since;
  const values = {
    workerId: filter.workerId,
    search: filter.search || null,
    level: filter.level,
    source: filter.source,
    since,
    until: filter.range ? null : filter.until,
  };
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as LogQuery;
}

/** The path of a live log. Without `tail`, it continues after the last line that was seen, or from `since` on. */
export function streamPath(place: LogPlace, query: LogQuery, tail: number | null): string {
  const { until: _, ...rest } = query;
  const include: LogQuery = place.startsWith('/v2/pods/') ? { include: 'LEVEL' } : {};
  return withQuery(`${place}/logs`, { ...(tail === null ? {} : { tail: String(tail) }), ...rest, ...include });
}

export function pagePath(place: LogPlace, query: LogQuery, limit: number, cursor: string | null): string {
  const position: LogQuery = cursor === null ? {} : { cursor };
  return withQuery(`${place}/log-lines`, { limit: String(limit), ...query, ...position });
}

export function downloadPath(place: LogPlace, query: LogQuery): string {
  return withQuery(`${place}/logs/download`, query);
}

function withQuery(path: string, query: LogQuery): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}
