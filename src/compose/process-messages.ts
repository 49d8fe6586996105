import type { Config } from '../config/config.ts';
import type { MetricsDelta } from '../core/metrics.ts';
import type { ProcessFigures } from '../rest/installation/process-figures.ts';

/** What the first process sends to a process that it started, over their IPC channel. */
export type ToChild =
  | { kind: 'start'; name: string; config: Config }
  /** Answer held requests and exit. */
  | { kind: 'stop' }
  /** Send a `counted` message now. */
  | { kind: 'collect'; id: number }
  /** The answer to `scrape`; null when the page could not be read. */
  | { kind: 'page'; id: number; text: string | null };

/** What a started process sends to the first. */
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
