import { FAILURES } from '../../core/errors.ts';
import { CLIENT_GONE } from '../../core/metrics.ts';
import type { ConnectFailure } from './upstream.ts';

/**
 * How a request ended.
 * - `done`: completely answered (or, for an upgrade, the tunnel has closed).
 * - `notConnected`: no connection could be opened. Nothing was sent, read of the body or answered, so the request may be
 *   forwarded elsewhere.
 * - `failed`: after something was sent. The client got a 502 or 504, or its connection was cut.
 * - `clientGone`: the client disconnected first.
 */
export type ForwardOutcome =
  | { kind: 'done'; status: number }
  | { kind: 'notConnected'; reason: ConnectFailure }
  | { kind: 'failed'; reason: string }
  | { kind: 'clientGone' };

/** The status that the client got; a response that was cut off counts as a 502. */
export function statusOf(outcome: Exclude<ForwardOutcome, { kind: 'notConnected' }>): number {
  if (outcome.kind === 'done') return outcome.status;
  return outcome.kind === 'clientGone' ? CLIENT_GONE : FAILURES.badGateway.status;
}
