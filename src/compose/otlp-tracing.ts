import {
  type Context,
  createTraceState,
  DiagLogLevel,
  diag,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TracingSettings } from '../config/tracing-settings.ts';
import { monotonicClock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';
import type { TraceContext } from '../core/trace-context.ts';
import type { OpenSpan, SpanOptions, Tracing } from '../core/tracing.ts';

const STOP_MS = 2_000;
const WARN_EVERY_MS = 60_000;

/** Starts exporting spans over OTLP/HTTP, in batches. Load this file only when needed: it imports all of OpenTelemetry. */
export function startOtlpTracing(settings: TracingSettings, logger: Logger): Tracing {
  warnOfFailures(logger);
  const exporter = new OTLPTraceExporter({ timeoutMillis: settings.timeoutMs });
  const provider = new TracerProvider({
    sampler: createSampler(settings),
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': 'podyard' }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: settings.delayMs })],
  });
  const tracer = provider.getTracer('podyard');
  const start = ({ name, kind, parent, attributes }: SpanOptions, startTime?: number): Span =>
    tracer.startSpan(
      name,
      { kind: KINDS[kind], attributes: { ...attributes }, ...(startTime === undefined ? {} : { startTime }) },
      toContext(parent),
    );
  let stopped: Promise<void> | undefined;
  return {
    begin: (options) => openSpan(start(options), options.parent),
    record: ({ fromMs, toMs, hasFailed, ...options }) => {
      const span = start(options, fromMs);
      if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(toMs);
    },
    stop: () => {
      stopped ??= shutDown(provider);
      return stopped;
    },
  };
}

async function shutDown(provider: TracerProvider): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, STOP_MS);
  });
  await Promise.race([provider.shutdown().catch(() => {}), late]);
  clearTimeout(timer);
  diag.disable();
}

const KINDS: Record<SpanOptions['kind'], SpanKind> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
};

function openSpan(span: Span, parent: TraceContext | null): OpenSpan {
  const context = span.spanContext();
  const flags = context.traceFlags.toString(16).padStart(2, '0');
  // An unsampled context is passed on only if the client sent one.
  const isWanted = isSpanContextValid(context) && (parent !== null || (context.traceFlags & TraceFlags.SAMPLED) !== 0);
  const traceparent = `00-${context.traceId}-${context.spanId}-${flags}`;
  return {
    context: isWanted ? { traceparent, tracestate: context.traceState?.serialize() || null } : null,
    end: (hasFailed) => {
      if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    },
  };
}

function toContext(parent: TraceContext | null): Context {
  if (parent === null) return ROOT_CONTEXT;
  const [, traceId, spanId, flags] = parent.traceparent.split('-');
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: traceId!,
    spanId: spanId!,
    traceFlags: Number.parseInt(flags!, 16),
    isRemote: true,
    ...(parent.tracestate === null ? {} : { traceState: createTraceState(parent.tracestate) }),
  });
}

function createSampler({ sampler, isParentBased, ratio }: TracingSettings): Sampler {
  const root =
    sampler === 'always_off'
      ? new AlwaysOffSampler()
      : sampler === 'always_on'
        ? new AlwaysOnSampler()
        : new TraceIdRatioBasedSampler(ratio);
  return isParentBased ? new ParentBasedSampler({ root }) : root;
}

/** Replaces OpenTelemetry's own log, which may quote headers and URLs and repeats itself. */
function warnOfFailures(logger: Logger): void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  const warn = () => {
    if (monotonicClock.now() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = monotonicClock.now();
    logger.warn({}, 'spans could not be sent: check OTEL_EXPORTER_OTLP_ENDPOINT and the collector');
  };
  const none = () => {};
  diag.setLogger(
    { error: warn, warn, info: none, debug: none, verbose: none },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
