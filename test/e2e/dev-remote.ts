import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { MAIN } from '../podyard-main.ts';
import { until } from './api.ts';

/** `podyard dev --remote` as a developer has it open in a terminal. */
export class RemoteDev {
  readonly child: ChildProcess;
  /** Its output so far. */
  printed = '';
  /** The id of its endpoint. */
  id = '';

  static async start(folder: string, env: Record<string, string>, ...options: string[]): Promise<RemoteDev> {
    const dev = new RemoteDev(folder, env, options);
    await until(
      `it serves: ${dev.printed}`,
      async () => {
        if (dev.child.exitCode !== null) throw new Error(dev.printed);
        return dev.printed.includes('Ctrl-C ends it');
      },
      60_000,
    );
    dev.id = /\/endpoints\/(\w+)/.exec(dev.printed)![1]!;
    return dev;
  }

  private constructor(folder: string, env: Record<string, string>, options: readonly string[]) {
    this.child = spawn(process.execPath, [MAIN, 'dev', folder, '--remote', ...options], {
      env: { PATH: process.env.PATH, ...env },
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.on('data', (chunk) => {
        this.printed += chunk;
      });
    }
  }

  async end(signal: NodeJS.Signals): Promise<unknown[]> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return [];
    this.child.kill(signal);
    return once(this.child, 'exit');
  }
}
