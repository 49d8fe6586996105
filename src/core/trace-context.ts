/** A trace and the parent span in it (W3C Trace Context, level 1). */
export interface TraceContext {
  /** Always version 00, so 55 characters. */
  readonly traceparent: string;
  readonly tracestate: string | null;
}

const TRACEPARENT = /^([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;
const MEMBER = '"traceparent":';

/** Reads the headers; null without a context, or with one that the standard says to ignore. */
export function readTraceContext(headers: {
  readonly [name: string]: string | string[] | undefined;
}): TraceContext | null {
  if (typeof headers.traceparent !== 'string') return null;
  const [, version, traceId, spanId, flags, more] = TRACEPARENT.exec(headers.traceparent) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null;
  const { tracestate } = headers;
  const isState = typeof tracestate === 'string' && TRACESTATE.test(tracestate);
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: isState ? tracestate : null };
}

/** Returns a job's `extras` with the members `traceparent` and `tracestate` in front, to be stored and sent to the worker. */
export function keepTraceContext({ traceparent, tracestate }: TraceContext, extras: string | null): string {
  const state = tracestate === null ? '' : `,"tracestate":${JSON.stringify(tracestate)}`;
  return `${MEMBER}"${traceparent}"${state}${extras === null ? '' : `,${extras}`}`;
}

/** Returns the context that `keepTraceContext` stored. */
export function findTraceContext(extras: string | null): TraceContext | null {
  if (!extras?.startsWith(MEMBER)) return null;
  const { traceparent, tracestate = null } = JSON.parse(`{${extras}}`) as TraceContext;
  return { traceparent, tracestate };
}

/** SQL for the traceparent that `keepTraceContext` stored in the column `extras`. */
export const TRACEPARENT_OF_EXTRAS = `case when starts_with(extras, '${MEMBER}') then substr(extras, ${MEMBER.length + 2}, 55) end`;
