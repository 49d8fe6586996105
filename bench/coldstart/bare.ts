import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type Begun, OneJobServer } from './one-job-server.ts';

const run = promisify(execFile);

/** The worker of the benchmark: its handler returns when it began and when its program started, in ms since 1970. */
export const PROGRAM = [
  'node',
  '--input-type=module',
  '-e',
  "import { start } from '/worker/podyard-worker.js'; const now = () => performance.timeOrigin + performance.now(); await start({ handler: async ({ input }) => { const at = now(); await new Promise((resolve) => setTimeout(resolve, input.holdMs ?? 0)); return { at, born: performance.timeOrigin }; } });",
];

/** The same, which can sleep at no cost: what is left is Podyard's and the engine's part. */
export const SLEEPING_PROGRAM = PROGRAM.map((part) =>
  part.replace('await start({', 'await start({ onSleep: () => {}, onWake: () => {},'),
);

/** The peer: the same image and program run by the engine alone, with a server that has one job in place of Podyard. */
export class BareEngine {
  readonly #image: string;
  readonly #jobs: OneJobServer;
  readonly #containers: string[] = [];
  #count = 0;

  static async open(image: string): Promise<BareEngine> {
    return new BareEngine(image, await OneJobServer.listen(await gatewayOf('bridge')));
  }

  private constructor(image: string, jobs: OneJobServer) {
    this.#image = image;
    this.#jobs = jobs;
  }

  /** From before `docker run` until its handler runs, in ms. */
  async run(): Promise<number> {
    const startedAt = now();
    const { begun } = await this.#container('run', '-d');
    return (await begun).at - startedAt;
  }

  /** From before `count` parallel `docker start`s until all handlers run, in ms. */
  async startAll(count: number): Promise<number> {
    const all = await Promise.all(Array.from({ length: count }, () => this.#container('create')));
    const names = this.#containers.slice(-count);
    const startedAt = now();
    await Promise.all(names.map((name) => run('docker', ['start', name])));
    return Math.max(...(await Promise.all(all.map(({ begun }) => begun))).map(({ at }) => at)) - startedAt;
  }

  async removeContainers(): Promise<void> {
    const names = this.#containers.splice(0);
    if (names.length > 0) await run('docker', ['rm', '-f', ...names]);
  }

  async close(): Promise<void> {
    await this.removeContainers();
    this.#jobs.close();
  }

  /** Creates a container; `begun` resolves when its handler has run. */
  async #container(...command: string[]): Promise<{ begun: Promise<Begun> }> {
    const name = `podyard-bench-${process.pid}-${++this.#count}`;
    this.#containers.push(name);
    const begun = this.#jobs.expect(name);
    const [entrypoint, ...args] = PROGRAM;
    const flags = Object.entries(this.#jobs.env(name)).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
    await run('docker', [...command, '--name', name, ...flags, '--entrypoint', entrypoint!, this.#image, ...args]);
    return { begun };
  }
}

/** Returns this machine's address on a network of the engine. Some engines report only the subnet: then its first address. */
async function gatewayOf(network: string): Promise<string> {
  const format = '{{with index .IPAM.Config 0}}{{or .Gateway .Subnet}}{{end}}';
  const { stdout } = await run('docker', ['network', 'inspect', network, '-f', format]);
  return stdout.trim().replace(/\.0\/\d+$/, '.1');
}

/** The clock of the handlers, in ms with fractions. */
export function now(): number {
  return performance.timeOrigin + performance.now();
}
