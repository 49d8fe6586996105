import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import type { HelmPrograms } from '../helm/helm-programs.ts';

const TIMEOUT_MS = 240_000; // helm waits for Deployments

/** Helm and kubectl as an operator runs them, with releases in one namespace. */
export class ClusterShell {
  readonly #programs: HelmPrograms;
  readonly #namespace: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor(programs: HelmPrograms, kubeconfig: string, namespace: string) {
    this.#programs = programs;
    this.#namespace = namespace;
    this.#env = { PATH: process.env.PATH, HOME: tmpdir(), KUBECONFIG: kubeconfig };
  }

  helm(...args: string[]): Promise<string> {
    return this.#run(this.#programs.helm, ['--namespace', this.#namespace, ...args], '');
  }

  /** Runs kubectl in the namespace that `args` or the objects name, with `input` as its standard input. */
  kubectl(args: string[], input = ''): Promise<string> {
    return this.#run(this.#programs.kubectl, args, input);
  }

  /** Forwards a port to a Service while `use` runs. */
  async withPort(service: string, port: number, use: (url: string) => Promise<void>): Promise<void> {
    const args = ['--namespace', this.#namespace, 'port-forward', `service/${service}`, `:${port}`];
    const child = spawn(this.#programs.kubectl, args, { env: this.#env, stdio: ['ignore', 'pipe', 'inherit'] });
    const closed = once(child, 'close');
    try {
      const lines = createInterface({ input: child.stdout });
      const line = await Promise.race([once(lines, 'line'), closed.then(() => [''])]);
      const local = /127\.0\.0\.1:(\d+)/.exec(String(line[0]))?.[1];
      if (local === undefined) throw new Error('kubectl port-forward ended');
      await use(`http://127.0.0.1:${local}`);
    } finally {
      child.kill();
      await closed;
    }
  }

  /** Resolves with stdout; rejects with the whole output. */
  #run(program: string, args: string[], input: string): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const options = { env: this.#env, timeout: TIMEOUT_MS, maxBuffer: 2 ** 26 };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${stderr || error.message}\n${stdout}`));
      else resolve(stdout);
    });
    child.stdin!.end(input);
    return promise;
  }
}
