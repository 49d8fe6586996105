import type { TraceContext } from './trace-context.ts';

/** Ids, states, counts. Never payloads, texts of errors, keys or URLs: spans go to whoever runs the collector. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

type SpanKind = 'internal' | 'server' | 'consumer' | 'client';

export interface SpanOptions {
  name: string;
  kind: SpanKind;
  /** Null: the trace begins here. */
  parent: TraceContext | null;
  attributes: SpanAttributes;
}

/** What takes spans; there is one only where an exporter is configured. None of it throws. */
export interface Tracing {
  begin(options: SpanOptions): OpenSpan;
  /** One that is over; times are ms since 1970. */
  record(options: SpanOptions & { fromMs: number; toMs: number; hasFailed: boolean }): void;
  /** Sends what is left, for a moment. */
  stop(): Promise<void>;
}

export interface OpenSpan {
  /** For whatever comes of it; null when nobody wants to know. */
  readonly context: TraceContext | null;
  end(hasFailed: boolean): void;
}
