import type { TraceContext } from './trace-context.ts';

/** Ids, states and counts; never payloads, error messages, keys or URLs, because others may run the collector. */
export type SpanAttributes = Readonly<Record<string, string | number>>;

type SpanKind = 'internal' | 'server' | 'consumer' | 'client';

export interface SpanOptions {
  name: string;
  kind: SpanKind;
  /** Null: the trace starts here. */
  parent: TraceContext | null;
  attributes: SpanAttributes;
}

/** Records spans; exists only if an exporter is configured. Never throws. */
export interface Tracing {
  begin(options: SpanOptions): OpenSpan;
  /** Records a finished span; times are ms since 1970. */
  record(options: SpanOptions & { fromMs: number; toMs: number; hasFailed: boolean }): void;
  /** Flushes the remaining spans, with a short timeout. */
  stop(): Promise<void>;
}

export interface OpenSpan {
  /** The context to propagate; null if the trace is not sampled. */
  readonly context: TraceContext | null;
  end(hasFailed: boolean): void;
}
