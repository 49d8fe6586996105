import type { Config } from '../config.ts';
import type { MetricsDelta } from '../core/metrics-delta.ts';
import type { ProcessFigures } from '../rest/installation/process-figures.ts';

/** What the first process tells one that it started, by the channel between them. */
export type ToChild =
  | { kind: 'start'; name: string; config: Config }
  /** Answer what is held, and end. */
  | { kind: 'stop' }
  /** Tell what you counted. */
  | { kind: 'collect'; id: number }
  /** The answer to `scrape`; null: there is none. */
  | { kind: 'page'; id: number; text: string | null };

export type ToFirst =
  /** It accepts connections. */
  | { kind: 'ready'; processId: string }
  | { kind: 'failed'; reason: string }
  /** `id`: of the question, or null for what is told unasked. */
  | { kind: 'counted'; id: number | null; delta: MetricsDelta; figures: ProcessFigures }
  /** Somebody wants `/metrics` of all. */
  | { kind: 'scrape'; id: number };

/** The name of the process that starts the others. */
export const FIRST_PROCESS = 'first';
