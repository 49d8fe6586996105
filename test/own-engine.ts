import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../src/core/ids.ts';
import { Engine } from '../src/engine/engine.ts';
import { until } from './e2e/api.ts';

/**
 * A dockerd of a test's own, which may be killed: nobody else uses it. Its containers go on without it. It needs root, and makes no rules of a
 * firewall.
 */
export class OwnEngine {
  readonly socketPath: string;
  readonly #folder: string;
  readonly #data: string;
  /** Without one of its own, it would use that of the machine's engine; with `none`, it would remove that. */
  readonly #bridge = `pyd${newId<string>(8)}`;
  #daemon: ChildProcess | undefined;

  /** `data`: where it keeps images. */
  static async start(data?: string): Promise<OwnEngine> {
    const folder = await mkdtemp(join(tmpdir(), 'podyard-dockerd-'));
    const engine = new OwnEngine(folder, data ?? join(folder, 'data'));
    execFileSync('ip', ['link', 'add', engine.#bridge, 'type', 'bridge']);
    execFileSync('ip', ['addr', 'add', '10.202.0.1/24', 'dev', engine.#bridge]);
    await engine.start();
    return engine;
  }

  private constructor(folder: string, data: string) {
    this.#folder = folder;
    this.#data = data;
    this.socketPath = join(folder, 'engine.sock');
  }

  /** Resolves once it answers. It ends while what it replaces has not ended as a whole; then it is started again. */
  async start(): Promise<void> {
    await until('the engine answers', async () => {
      if (!this.#isRunning) this.#spawn();
      const engine = new Engine(this.socketPath);
      const isUp = existsSync(this.socketPath) && (await engine.kind().catch(() => null)) !== null;
      await engine.close();
      return isUp;
    });
  }

  #spawn(): void {
    const at = (name: string) => join(this.#folder, name);
    this.#daemon = spawn(
      'dockerd',
      [
        ...['--host', `unix://${this.socketPath}`, '--pidfile', at('pid'), '--data-root', this.#data],
        ...[
          '--exec-root',
          at('exec'),
          '--live-restore',
          '--bridge',
          this.#bridge,
          '--iptables=false',
          '--ip6tables=false',
        ],
        ...['--default-address-pool', 'base=10.201.0.0/16,size=24'], // those of the machine's engine are in others
      ],
      { stdio: 'ignore' },
    );
  }

  get #isRunning(): boolean {
    return this.#daemon !== undefined && this.#daemon.exitCode === null && this.#daemon.signalCode === null;
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
    await rm(this.socketPath, { force: true });
  }

  /** Its containers must have ended. */
  async dispose(): Promise<void> {
    await this.#end('SIGTERM');
    spawnSync('umount', ['--lazy', this.#data]); // it has mounted its own folder
    execFileSync('ip', ['link', 'delete', this.#bridge]);
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (!this.#isRunning) return;
    const ended = once(this.#daemon!, 'exit');
    this.#daemon!.kill(signal);
    await ended;
  }
}
