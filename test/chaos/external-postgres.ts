import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { until } from '../e2e/api.ts';
import { freePort } from '../free-port.ts';

/** Where Debian puts the oldest PostgreSQL that is tested. */
const PROGRAMS = '/usr/lib/postgresql/15/bin';
/** Installed for the tests by scripts/setup-tests.sh, `programs`. */
export const hasPostgres15 = existsSync(join(PROGRAMS, 'postgres'));

/** A throwaway cluster of Debian's PostgreSQL 15 on loopback, as an operator's own server. */
export class ExternalPostgres {
  readonly url: string;
  readonly #folder: string;
  readonly #port: number;
  readonly #env: NodeJS.ProcessEnv;
  #process: ChildProcess | undefined;

  /** `env`: further variables of the server. */
  static async start(env: Record<string, string> = {}): Promise<ExternalPostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'podyard-pg15-'));
    const owner = databaseUser();
    if (owner) chownSync(folder, owner.uid, owner.gid);
    const initdb = ['-D', join(folder, 'data'), '-U', 'podyard', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'];
    execFileSync(join(PROGRAMS, 'initdb'), initdb, { ...owner, stdio: 'ignore', cwd: folder });
    const database = new ExternalPostgres(folder, await freePort(), env);
    await database.restart();
    return database;
  }

  private constructor(folder: string, port: number, env: Record<string, string>) {
    this.#folder = folder;
    this.#port = port;
    this.#env = { PATH: process.env.PATH, ...env };
    this.url = `postgresql://podyard@127.0.0.1:${port}/postgres`;
  }

  /** Starts it; a server that was killed before may need a moment to release its memory. Resolves when it answers. */
  async restart(): Promise<void> {
    await until('PostgreSQL 15 answers', async () => {
      if (!this.#isRunning) this.#spawn();
      return this.query('select 1').then(
        () => true,
        () => false,
      );
    });
  }

  /** Ends it and all its children. */
  async end(signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
    if (!this.#isRunning) return;
    const ended = once(this.#process!, 'exit');
    this.#process!.kill(signal);
    await ended;
  }

  async query<T extends object>(text: string): Promise<T[]> {
    const client = new pg.Client({ connectionString: this.url, application_name: 'test' });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<T>(text)).rows;
    } finally {
      await client.end();
    }
  }

  async dispose(): Promise<void> {
    await this.end('SIGINT');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  get #isRunning(): boolean {
    return this.#process !== undefined && this.#process.exitCode === null && this.#process.signalCode === null;
  }

  #spawn(): void {
    const settings = {
      listen_addresses: '127.0.0.1',
      port: this.#port,
      unix_socket_directories: '',
      max_connections: 60,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    this.#process = spawn(join(PROGRAMS, 'postgres'), ['-D', join(this.#folder, 'data'), ...args], {
      ...databaseUser(),
      env: this.#env,
      cwd: this.#folder,
      stdio: 'ignore',
    });
  }
}

/** PostgreSQL refuses to run as root: the user of Debian's package. Undefined for any other caller. */
export function databaseUser(): { uid: number; gid: number } | undefined {
  if (process.getuid!() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
