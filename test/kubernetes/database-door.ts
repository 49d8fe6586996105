import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * Gives pods TCP access, at this machine's address, to a test database whose server listens only on a socket file.
 */
export class DatabaseDoor {
  readonly url: string;
  readonly #server;
  readonly #open = new Set<Socket>();

  /** `databaseUrl` has the folder of the socket as its `host` parameter. */
  static async open(databaseUrl: string, address: string): Promise<DatabaseDoor> {
    const door = new DatabaseDoor(databaseUrl);
    door.#server.listen(0, address);
    await once(door.#server, 'listening');
    const { port } = door.#server.address() as AddressInfo;
    const user = door.#target.searchParams.get('user') ?? door.#target.username;
    return Object.assign(door, { url: `postgresql://${user}@${address}:${port}${door.#target.pathname}` });
  }

  readonly #target: URL;

  private constructor(databaseUrl: string) {
    this.url = '';
    this.#target = new URL(databaseUrl.replace(/^postgresql:\/\/\//, 'postgresql://socket/'));
    const folder = this.#target.searchParams.get('host');
    if (folder === null) throw new Error('the test database must listen on a socket file');
    const path = `${folder}/.s.PGSQL.${this.#target.searchParams.get('port') ?? '5432'}`;
    this.#server = createServer((client) => this.#join(client, connect(path)));
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#open) socket.destroy();
    await once(this.#server, 'close');
  }

  #join(...pair: [Socket, Socket]): void {
    const end = () => {
      for (const socket of pair) {
        socket.destroy();
        this.#open.delete(socket);
      }
    };
    for (const socket of pair) this.#open.add(socket.on('error', end).on('close', end));
    pair[0].pipe(pair[1]).pipe(pair[0]);
  }
}
