import type { ConnectionPace } from '../../http/floods/refusal-pace.ts';
import type { Deadlines } from './deadlines.ts';
import type { RequestHead } from './message-head.ts';
import type { SocketTransport } from './transport.ts';
import type { WireExchange } from './wire-exchange.ts';

/** Why no more requests are read from a connection. */
export type Unreadable = 'invalid' | 'tooLarge' | 'tooSlow' | 'slowBody';

/** Takes over an exchange on a connection that is read here. */
export type WireHandler = (exchange: WireExchange) => void;

/** A connection, as its owner sees it. */
export interface OwnedConnection {
  readonly transport: SocketTransport;
  readonly pace: ConnectionPace;
  /** Closes it if it is idle. */
  close(): void;
  destroy(): void;
}

/** The owner of a connection. */
export interface ConnectionOwner {
  /**
   * Returns the handler of a request, which may be used again for the same head; null when there is none here and the
   * connection is handed off.
   */
  dispatch(head: RequestHead): WireHandler | null;
  /** Takes a connection that is no longer read here. `unread` starts with a request. */
  handOff(connection: OwnedConnection, unread: Buffer): void;
  /** A complete response for a request that cannot be read. `target`: where it is known. */
  refusal(reason: Unreadable, target?: string): string;
  onClosed(connection: OwnedConnection): void;
  readonly deadlines: Deadlines;
  /** True when each response must be the last of its connection. */
  readonly isDraining: boolean;
  readonly maxHeadBytes: number;
  readonly idleTimeoutMs: number;
  /** `Keep-Alive` with the idle timeout. */
  readonly keepAliveLine: string;
}
