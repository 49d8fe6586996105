import type { Config } from '../../config/config.ts';
import type { MetricsDelta } from '../../core/metrics.ts';
import type { ProcessFigures } from '../../rest/installation/process-figures.ts';

/** Messages from the first process to one that it started, over their IPC channel. */
export type ToChild =
  | { kind: 'start'; name: string; config: Config }
  /** Answer held requests and exit. */
  | { kind: 'stop' }
  /** Send a `counted` message now. */
  | { kind: 'collect'; id: number }
  /** The answer to `scrape`; null when the page could not be read. */
  | { kind: 'page'; id: number; text: string | null };

/** Messages from a started process to the first. */
export type ToFirst =
  /** It accepts connections. */
  | { kind: 'ready'; processId: string }
  | { kind: 'failed'; reason: string }
  /** `id`: that of `collect`, or null when sent by itself. */
  | { kind: 'counted'; id: number | null; delta: MetricsDelta; figures: ProcessFigures }
  /** A client asks for `/metrics`, which covers all processes. */
  | { kind: 'scrape'; id: number };

/** The name of the first process in logs and metrics. */
export const FIRST_PROCESS = 'first';
