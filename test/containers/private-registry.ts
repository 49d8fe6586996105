import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Docker from 'dockerode';
import { whileImagesGo } from '../engine.ts';
import { freePort } from '../free-port.ts';

/** True when Debian's registry is installed. */
export function hasRegistryProgram(): boolean {
  try {
    execFileSync('docker-registry', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The bcrypt hash of `pull-me-4711-please`, a password for this test registry alone. */
const HASH = '$2y$05$9XqYdQu2OieanCRY2P.SKeUvRb.Q9fuNN.jkgPzFucymrtOBAYmgy';

/** A registry on this machine that requires a password. Call `dispose` after use. */
export class PrivateRegistry {
  readonly auth = { username: 'puller', password: 'pull-me-4711-please' };
  readonly folder: string;
  readonly host: string;
  readonly #pushed: string[] = [];
  #process: ChildProcess | undefined;
  #changes = 0;

  static async start(): Promise<PrivateRegistry> {
    const registry = new PrivateRegistry(`127.0.0.1:${await freePort()}`);
    await registry.resume();
    return registry;
  }

  private constructor(host: string) {
    this.host = host;
    this.folder = mkdtempSync(join(tmpdir(), 'podyard-registry-'));
    // JSON is YAML, too.
    const config = {
      version: 0.1,
      storage: { filesystem: { rootdirectory: join(this.folder, 'data') }, delete: { enabled: true } },
      http: { addr: host.replace('127.0.0.1', '') }, // the pods of a cluster reach it at another address
      auth: { htpasswd: { realm: 'test', path: join(this.folder, 'htpasswd') } },
    };
    writeFileSync(join(this.folder, 'config.yml'), JSON.stringify(config));
    this.admit(this.auth.username);
  }

  /** Returns the name of an image for clients that reach this machine at `address`. */
  hostAt(address: string): string {
    return this.host.replace('127.0.0.1', address);
  }

  /** Replaces the only user and its password. */
  admit(username: string): void {
    const file = join(this.folder, 'htpasswd');
    writeFileSync(file, `${username}:${HASH}\n`);
    this.#changes += 1;
    utimesSync(file, new Date(), new Date(Date.now() + this.#changes * 10_000)); // the registry checks only the time
  }

  /**
   * Pushes a copy of an image of the engine under a new name, which the engine does not keep. The copy has an id of its own: a node
   * that has the original already (kubelets from 1.35 on compare ids) must still ask for credentials.
   */
  async push(image: string, repository: string, tag: string): Promise<string> {
    const docker = new Docker();
    const name = `${this.host}/${repository}:${tag}`;
    const { Config } = await docker.getImage(image).inspect();
    const program = Config.Cmd || Config.Entrypoint ? {} : { Cmd: ['none'] }; // without one the engine makes no container
    const original = await docker.createContainer({ Image: image, ...program });
    const changes = `LABEL podyard.test.copy=${this.host}`;
    const commit = () => original.commit({ repo: `${this.host}/${repository}`, tag, changes });
    await whileImagesGo(commit).finally(() => original.remove());
    const push = await docker.getImage(name).push({ authconfig: { ...this.auth, serveraddress: this.host } });
    await new Promise((resolve, reject) =>
      docker.modem.followProgress(push, (error) => (error ? reject(error) : resolve(null))),
    );
    await whileImagesGo(() => docker.getImage(name).remove());
    this.#pushed.push(name);
    return name;
  }

  /** Stops the registry and keeps its images. */
  async pause(): Promise<void> {
    if (!this.#process || this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.kill();
    await ended;
  }

  async resume(): Promise<void> {
    const registry = spawn('docker-registry', ['serve', join(this.folder, 'config.yml')], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#process = registry;
    for await (const line of createInterface({ input: registry.stderr })) {
      if (line.includes('listening on')) break;
    }
    registry.stderr.resume();
  }

  /** Stops the registry and removes its images from the engine. */
  async dispose(): Promise<void> {
    await this.pause();
    const docker = new Docker();
    for (const name of this.#pushed) {
      await docker
        .getImage(name)
        .remove({ force: true })
        .catch(() => {}); // it was never pulled
    }
    rmSync(this.folder, { recursive: true });
  }
}
