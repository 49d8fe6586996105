import type { Transport, TransportReader, TunnelEnd } from '../wire/client-exchange.ts';

export interface Tunnel {
  /** Closes both connections at once. */
  destroy(): void;
}

/** Joins two connections, with backpressure and half-close, until both are closed. */
export function tunnel(client: TunnelEnd, upstream: TunnelEnd, onClosed: () => void): Tunnel {
  let open = 2;
  const ended = () => {
    open -= 1;
    if (open === 0) onClosed();
  };
  client.transport.reader = new OneWay(client.transport, upstream.transport, ended);
  upstream.transport.reader = new OneWay(upstream.transport, client.transport, ended);
  if (client.head.length > 0) client.transport.reader.onBytes(client.head);
  if (upstream.head.length > 0) upstream.transport.reader.onBytes(upstream.head);
  client.transport.keepAlive();
  upstream.transport.keepAlive();
  client.transport.resume();
  upstream.transport.resume();
  return {
    destroy: () => {
      client.transport.destroy();
      upstream.transport.destroy();
    },
  };
}

class OneWay implements TransportReader {
  readonly #from: Transport;
  readonly #to: Transport;
  readonly #ended: () => void;

  constructor(from: Transport, to: Transport, ended: () => void) {
    this.#from = from;
    this.#to = to;
    this.#ended = ended;
  }

  onBytes(chunk: Buffer): void {
    this.#to.writeBytes(chunk);
    if (this.#to.isFull) this.#from.pause();
  }

  onEnd(): void {
    this.#to.end();
  }

  /** This side has sent what the other wrote: resume the other. */
  onDrain(): void {
    this.#to.resume();
  }

  onClosed(error: Error | null): void {
    if (error === null) this.#to.closeSoon();
    else this.#to.destroy();
    this.#ended();
  }
}
