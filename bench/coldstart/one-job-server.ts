import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const TIMEOUT_MS = 60_000;

/** When a handler began and when its program started, in ms since 1970. */
export interface Begun {
  at: number;
  born: number;
}

/** Takes Podyard's place for a worker that something else started: hands it one job and records what its handler returns. */
export class OneJobServer {
  readonly #server: Server;
  readonly #url: string;
  readonly #begun = new Map<string, (begun: Begun) => void>();

  static async listen(host: string): Promise<OneJobServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    return new OneJobServer(server, `http://${host}:${(server.address() as AddressInfo).port}`);
  }

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.#url = url;
    const given = new Set<string>();
    server.on('request', (req, res) => {
      const [, kind, worker = ''] = req.url!.split('?')[0]!.split('/');
      if (kind === 'job-take' && !given.has(worker)) {
        given.add(worker);
        res.setHeader('content-type', 'application/json').end('{"id":"j","input":{}}');
      } else if (kind === 'job-done') {
        let body = '';
        req.on('data', (chunk) => (body += chunk));
        req.on('end', () => {
          res.end('{}');
          this.#begun.get(worker)?.((JSON.parse(body) as { output: Begun }).output);
        });
      } else if (kind === 'ping') res.end('{}');
      // other requests are held: an idle worker polls in vain
    });
  }

  /** The environment for a worker of that name. */
  env(name: string): Record<string, string> {
    return {
      RUNPOD_WEBHOOK_GET_JOB: `${this.#url}/job-take/${name}?gpu=x`,
      RUNPOD_WEBHOOK_POST_OUTPUT: `${this.#url}/job-done/${name}/$ID?gpu=x`,
      RUNPOD_WEBHOOK_PING: `${this.#url}/ping/${name}?gpu=x`,
      RUNPOD_AI_API_KEY: 'key',
      RUNPOD_POD_ID: name,
    };
  }

  /** Resolves when the handler of that worker has run. */
  expect(name: string): Promise<Begun> {
    const begun = new Promise<Begun>((resolve, reject) => {
      this.#begun.set(name, resolve);
      setTimeout(() => reject(new Error(`worker ${name} did not finish its job`)), TIMEOUT_MS).unref();
    });
    begun.catch(() => {});
    return begun;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
