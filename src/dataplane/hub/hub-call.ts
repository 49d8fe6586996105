import type { Clock } from '../../core/clock.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { CallRequest, CallResponse } from '../../http/call-messages.ts';
import type { HubReader, Known, PullThroughHub } from '../../models/hub/pull-through-hub.ts';

/** One request of a workload. */
export interface HubCall {
  req: CallRequest;
  res: CallResponse;
  hub: PullThroughHub;
  reader: HubReader;
  /** Where the workload reaches this hub. */
  base: string;
  /** Aborts when the client is gone. */
  signal: AbortSignal;
  metrics: Metrics;
  clock: Clock;
}

/** The headers that say that the hub is away, and since when its answer is known. */
export function ageHeaders({ awaySinceMs }: Known<unknown>, clock: Clock): string[] {
  if (awaySinceMs === null) return [];
  const seconds = Math.max(0, Math.round((clock.now() - awaySinceMs) / 1_000));
  return ['age', String(seconds), 'podyard-hub-away', new Date(awaySinceMs).toISOString()];
}
