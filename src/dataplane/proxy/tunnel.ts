import type { TunnelEnd, Wire, WireReader } from '../wire/client-exchange.ts';

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
  client.wire.reader = new OneWay(client.wire, upstream.wire, ended);
  upstream.wire.reader = new OneWay(upstream.wire, client.wire, ended);
  if (client.head.length > 0) client.wire.reader.onBytes(client.head);
  if (upstream.head.length > 0) upstream.wire.reader.onBytes(upstream.head);
  client.wire.keepAlive();
  upstream.wire.keepAlive();
  client.wire.resume();
  upstream.wire.resume();
  return {
    destroy: () => {
      client.wire.destroy();
      upstream.wire.destroy();
    },
  };
}

class OneWay implements WireReader {
  readonly #from: Wire;
  readonly #to: Wire;
  readonly #ended: () => void;

  constructor(from: Wire, to: Wire, ended: () => void) {
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
