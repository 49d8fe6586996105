import type { ClientExchange, RawHeaders } from './client-exchange.ts';
import type { Upstream } from './upstream.ts';

export interface ForwardOptions {
  /** Path and query for the upstream, where they are not those of the request. */
  target?: string;
  /** Lowercase names of request headers that are not passed on. */
  withheld?: ReadonlySet<string>;
  /** Headers of ours for the answer. They replace those of the upstream with the same name. */
  answerHeaders?: RawHeaders;
  /** Called when the connection stands, right before the first byte is sent. */
  onConnected?: () => void;
}

/**
 * How a request ended.
 * - `done`: the answer went out completely (or, of an upgrade, the tunnel has closed).
 * - `notConnected`: no connection could be opened. Nothing was sent, nothing of the body read, nothing answered: it may
 *   be forwarded elsewhere, or `refuseUnreachable` answers it.
 * - `failed`: after something was sent. The client has got a 502 or 504, or its connection was cut.
 * - `clientGone`: the client went away first.
 */
export type ForwardOutcome =
  | { kind: 'done'; status: number }
  | { kind: 'notConnected'; reason: ConnectFailure }
  | { kind: 'failed'; reason: string }
  | { kind: 'clientGone' };

/** `refused`: nothing listens there. */
export type ConnectFailure = 'refused' | 'timedOut' | 'unreachable';

export type Forward = (exchange: ClientExchange, upstream: Upstream, options?: ForwardOptions) => Promise<ForwardOutcome>;
