import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PATIENCE_MS = 60_000;

/** What a worker of the benchmark does: its handler says when it began, in ms since 1970. */
export const PROGRAM = [
  'node',
  '--input-type=module',
  '-e',
  "import { start } from '/worker/podyard-worker.js'; const now = () => performance.timeOrigin + performance.now(); await start({ handler: async ({ input }) => { const at = now(); await new Promise((resolve) => setTimeout(resolve, input.holdMs ?? 0)); return { at }; } });",
];

/**
 * The peer: the same image with the same program, run by the engine alone. In place of Podyard stands a server that gives
 * each worker one job at once and notes what the handler says.
 */
export class BareEngine {
  readonly #image: string;
  readonly #server: Server;
  readonly #url: string;
  readonly #begun = new Map<string, (at: number) => void>();
  readonly #containers: string[] = [];
  #count = 0;

  static async open(image: string): Promise<BareEngine> {
    const host = await gatewayOf('bridge');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    return new BareEngine(image, server, `http://${host}:${(server.address() as AddressInfo).port}`);
  }

  private constructor(image: string, server: Server, url: string) {
    this.#image = image;
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
          this.#begun.get(worker)?.((JSON.parse(body) as { output: { at: number } }).output.at);
        });
      } else if (kind === 'ping') res.end('{}');
      // everything else is held: an idle worker asks in vain
    });
  }

  /** From before `docker run` until its handler runs, in ms. */
  async run(): Promise<number> {
    const startedAt = now();
    const { begun } = await this.#container('run', '-d');
    return (await begun) - startedAt;
  }

  /** From before `count` parallel `docker start`s until all handlers run, in ms. */
  async startAll(count: number): Promise<number> {
    const all = await Promise.all(Array.from({ length: count }, () => this.#container('create')));
    const names = this.#containers.slice(-count);
    const startedAt = now();
    await Promise.all(names.map((name) => run('docker', ['start', name])));
    return Math.max(...(await Promise.all(all.map(({ begun }) => begun)))) - startedAt;
  }

  async removeContainers(): Promise<void> {
    const names = this.#containers.splice(0);
    if (names.length > 0) await run('docker', ['rm', '-f', ...names]);
  }

  async close(): Promise<void> {
    await this.removeContainers();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Makes a container; `begun` resolves with the moment at which its handler began. */
  async #container(...command: string[]): Promise<{ begun: Promise<number> }> {
    const name = `podyard-bench-${process.pid}-${++this.#count}`;
    this.#containers.push(name);
    const begun = new Promise<number>((resolve, reject) => {
      this.#begun.set(name, resolve);
      setTimeout(() => reject(new Error(`container ${name} never asked for work`)), PATIENCE_MS).unref();
    });
    begun.catch(() => {});
    const [entrypoint, ...args] = PROGRAM;
    const env = {
      RUNPOD_WEBHOOK_GET_JOB: `${this.#url}/job-take/${name}?gpu=x`,
      RUNPOD_WEBHOOK_POST_OUTPUT: `${this.#url}/job-done/${name}/$ID?gpu=x`,
      RUNPOD_WEBHOOK_PING: `${this.#url}/ping/${name}?gpu=x`,
      RUNPOD_AI_API_KEY: 'key',
      RUNPOD_POD_ID: name,
    };
    const flags = Object.entries(env).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
    await run('docker', [...command, '--name', name, ...flags, '--entrypoint', entrypoint!, this.#image, ...args]);
    return { begun };
  }
}

/** Where this machine is on a network of the engine: not every engine tells, but it is the first address. */
async function gatewayOf(network: string): Promise<string> {
  const format = '{{with index .IPAM.Config 0}}{{or .Gateway .Subnet}}{{end}}';
  const { stdout } = await run('docker', ['network', 'inspect', network, '-f', format]);
  return stdout.trim().replace(/\.0\/\d+$/, '.1');
}

/** The clock that handlers tell, in ms with fractions. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
