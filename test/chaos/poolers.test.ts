/** PgBouncer in front of an operator's PostgreSQL: what each of its modes means (docs/guide/database.md). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import { runToFailure } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { freePort } from '../free-port.ts';
import { databaseUser, ExternalPostgres, hasPostgres15 } from './external-postgres.ts';

const PGBOUNCER = '/usr/sbin/pgbouncer';
const canRun = hasPostgres15 && existsSync(PGBOUNCER);

let database: ExternalPostgres;
beforeAll(async () => {
  if (canRun) database = await ExternalPostgres.start();
});
afterAll(() => database?.dispose());

/** Starts PgBouncer in front of the database; it ends with the test. Returns the URL to connect to. */
async function startPooler(settings: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'podyard-pooler-'));
  const port = await freePort();
  const owner = databaseUser();
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    max_client_conn: '200',
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`);
  const { port: databasePort } = new URL(database.url);
  const target = `* = host=127.0.0.1 port=${databasePort} user=podyard`;
  await writeFile(join(folder, 'pgbouncer.ini'), ['[databases]', target, '[pgbouncer]', ...lines, ''].join('\n'));
  if (owner) {
    await chown(folder, owner.uid, owner.gid);
    await chown(join(folder, 'pgbouncer.ini'), owner.uid, owner.gid);
  }
  const pooler: ChildProcess = spawn(PGBOUNCER, [join(folder, 'pgbouncer.ini')], {
    ...owner,
    stdio: 'ignore',
    cwd: folder,
  });
  onTestFinished(async () => {
    const ended = once(pooler, 'exit');
    pooler.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const url = `postgresql://podyard@127.0.0.1:${port}/postgres`;
  await until('PgBouncer answers', async () => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    const isThere = await client.connect().then(
      () => true,
      () => false,
    );
    await client.end().catch(() => {});
    return isThere;
  });
  return url;
}

test.skipIf(!canRun)(
  'a pooler in transaction or statement mode is refused at the start, in words that name the mode and what works',
  async () => {
    for (const [mode, round] of [
      ['transaction', '0'],
      ['transaction', '1'],
      ['statement', '0'],
    ] as const) {
      const url = await startPooler({
        pool_mode: mode,
        ignore_startup_parameters: 'options,extra_float_digits',
        default_pool_size: '20',
        server_round_robin: round,
      });
      const failure = await ServerProcess.start({ runtime: 'simulated', databaseUrl: url }).catch(
        (error: Error) => error,
      );
      expect(failure).toBeInstanceOf(Error);
      expect((failure as Error).message).toContain(`a connection pooler in ${mode} mode is in front of the database`);
      expect((failure as Error).message).toContain('pool_mode = session');
      expect(await runToFailure(['doctor', '--database-url', url])).toContain(`a connection pooler in ${mode} mode`);
    }
  },
);

test.skipIf(!canRun)(
  'a pooler that refuses the parameter options is refused with the setting that it needs',
  async () => {
    const url = await startPooler({ pool_mode: 'session', default_pool_size: '60' });
    const failure = await ServerProcess.start({ runtime: 'simulated', databaseUrl: url }).catch(
      (error: Error) => error,
    );
    expect((failure as Error).message).toContain('ignore_startup_parameters = options');
  },
);

test.skipIf(!canRun)(
  'through a pooler in session mode jobs run, and what control writes carries its epoch although the pooler drops settings',
  async () => {
    const url = await startPooler({
      pool_mode: 'session',
      ignore_startup_parameters: 'options,extra_float_digits',
      default_pool_size: '55',
    });
    const server = await ServerProcess.start({ runtime: 'process', databaseUrl: url });
    onTestFinished(() => server.dispose());
    expect(server.stderr).toContain('a connection pooler in session mode is in front of the database');
    await server.query('create table written (epoch text not null)');
    await server.query(`
    create function record_epoch() returns trigger language plpgsql as $$
    begin
      insert into written values (coalesce(current_setting('podyard.epoch', true), ''));
      return null;
    end $$`);
    await server.query(
      'create trigger record_epoch after insert on workers for each statement execute function record_epoch()',
    );
    const api = new Api(server);
    const endpoint = await api.createEndpoint({ workers: { min: 0, max: 1 } });
    expect(await api.ended(endpoint, (await api.run(endpoint, { echo: 'x' })).id)).toMatchObject({
      status: 'COMPLETED',
    });
    const epochs = await server.query('select distinct epoch from written');
    expect(epochs).toEqual(await server.query('select epoch::text from leadership'));
  },
  120_000,
);
