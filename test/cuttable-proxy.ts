import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect, createServer, type ListenOptions, type NetConnectOpts, type Server, type Socket } from 'node:net';

/** Passes connections on to another address until it is cut. */
export class CuttableProxy {
  readonly #at: ListenOptions;
  readonly #target: () => NetConnectOpts;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;

  constructor(at: ListenOptions, target: () => NetConnectOpts) {
    this.#at = at;
    this.#target = target;
  }

  async connect(): Promise<void> {
    this.#server = createServer((socket) => {
      const other = connect(this.#target());
      for (const one of [socket, other]) {
        this.#sockets.add(one.on('error', () => {}));
        one.on('close', () => this.#sockets.delete(one));
      }
      socket.pipe(other).pipe(socket);
      socket.on('close', () => other.destroy());
      other.on('close', () => socket.destroy());
    });
    await once(this.#server.listen(this.#at), 'listening');
  }

  /** Ends all connections and refuses new ones; does nothing if it was never connected. */
  async cut(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    if (this.#at.path !== undefined) await rm(this.#at.path, { force: true });
  }
}
