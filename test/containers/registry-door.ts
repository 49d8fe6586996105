import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { PrivateRegistry } from './private-registry.ts';

/** A way to Debian's registry that needs no password, counts what is asked, can be away, and can keep requests waiting. */
export class RegistryDoor {
  readonly asked: string[] = [];
  isOpen = true;
  /** A request waits for it. */
  admit: (asked: string) => Promise<unknown> | undefined = () => undefined;
  readonly #server: Server;

  constructor(registry: PrivateRegistry) {
    const [, port] = registry.host.split(':');
    const { username, password } = registry.auth;
    const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
    this.#server = createServer(async (from, answer) => {
      const { method, url, headers } = from;
      if (!this.isOpen) return void answer.destroy();
      this.asked.push(`${method} ${url}`);
      await this.admit(`${method} ${url}`);
      const onward = request({ port, method, path: url, headers: { ...headers, authorization } }, (answered) => {
        answer.writeHead(answered.statusCode!, answered.headers);
        answered.pipe(answer);
      });
      onward.on('error', () => answer.destroy());
      from.on('error', () => onward.destroy()).pipe(onward);
    });
  }

  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
