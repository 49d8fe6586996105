import { parseInteger } from './parse-setting.ts';

/** The OpenTelemetry variables that its packages do not read themselves. */
export interface TracingSettings {
  sampler: 'always_on' | 'always_off' | 'traceidratio';
  /** The client's sampling decision comes first. */
  isParentBased: boolean;
  /** For `traceidratio`, 0 to 1. */
  ratio: number;
  delayMs: number;
  /** For a batch with all its tries. They outlast `stop`, so an absent collector can delay the exit by this. */
  timeoutMs: number;
}

/** Reads OpenTelemetry's own variables. As its specification asks, an unknown value falls back to the default. */
export function readTracingSettings(env: NodeJS.ProcessEnv): TracingSettings | null {
  const isOff = env.OTEL_SDK_DISABLED?.toLowerCase() === 'true' || env.OTEL_TRACES_EXPORTER === 'none';
  if (isOff || !(env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)) return null;
  const [, parent, sampler] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(
    env.OTEL_TRACES_SAMPLER || 'parentbased_always_on',
  ) ?? [undefined, 'parentbased_', 'always_on'];
  const ratio = Number(env.OTEL_TRACES_SAMPLER_ARG || 1);
  const timeout = env.OTEL_EXPORTER_OTLP_TRACES_TIMEOUT || env.OTEL_EXPORTER_OTLP_TIMEOUT;
  return {
    sampler: sampler as TracingSettings['sampler'],
    isParentBased: parent !== undefined,
    ratio: ratio >= 0 && ratio <= 1 ? ratio : 1,
    delayMs: parseInteger('OTEL_BSP_SCHEDULE_DELAY', env.OTEL_BSP_SCHEDULE_DELAY, {
      min: 1,
      max: 3_600_000,
      fallback: 5_000,
    }),
    timeoutMs: parseInteger('OTEL_EXPORTER_OTLP_TIMEOUT', timeout, { min: 1, max: 60_000, fallback: 3_000 }),
  };
}
