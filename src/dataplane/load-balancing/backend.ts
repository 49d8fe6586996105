import type { WorkerId } from '../../core/ids.ts';
import type { Upstream } from '../proxy/upstream.ts';
import type { RawHeaders } from '../wire/client-exchange.ts';

export interface BalancedWorker {
  readonly id: WorkerId;
  readonly version: number;
  /** `waiting`: starting or unhealthy. `draining`: finishes its requests and gets no more. */
  readonly state: 'ready' | 'waiting' | 'frozen' | 'draining';
  /** How many requests it may have in flight. */
  readonly concurrency: number;
  /** Where it takes requests; null before it was ready. */
  readonly at: { readonly host: string; readonly port: number } | null;
}

/** A worker with what this process has sent to it. */
export interface Backend extends BalancedWorker {
  /** Its connections; set once it is ready. */
  upstream: Upstream | undefined;
  /** Headers added to its responses. */
  readonly answerHeaders: RawHeaders;
  inFlight: number;
  /** Consecutive failures to connect. */
  connectFailures: number;
  /** Others are preferred until then, in ms of the monotonic clock. */
  avoidUntil: number;
}

/** The worker that the client asks for with `X-Runpod-Worker-Id` (docs/interface/queue.md, "Affinity"). */
export interface Affinity {
  workerId: string;
  /** `soft`: prefer this worker. `strict`: only this one. `strict-resume`: only this one, and wait while it is frozen. */
  kind: 'soft' | 'strict' | 'strict-resume';
}

/** One request on its way to a worker. */
export interface Attempt {
  readonly affinity: Affinity | undefined;
  /** Workers that it could not connect to. */
  unreachable: Set<WorkerId> | undefined;
  /** When it may try those again, in ms of the monotonic clock. */
  retryAt: number;
}
