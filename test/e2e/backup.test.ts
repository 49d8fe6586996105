import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, watch } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, type Job, until } from './api.ts';
import { COMMAND_TIME_LIMIT_MS, podyard, run, runToFailure } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';

let server: ServerProcess;
let elsewhere: ServerProcess;
let databases: TestDatabase[];
let file: string;
/** A partition that the backup has; the server creates another one every ten minutes. */
let partitionInBackup: string;
let endpointId: string;
let finished: Job;
let jobs: string[];
beforeAll(async () => {
  databases = await Promise.all([createTestDatabase(), createTestDatabase()]);
  elsewhere = await ServerProcess.create({ runtime: 'process', databaseUrl: databases[1]!.url });
  file = join(elsewhere.dataDir, 'backup');
  server = await ServerProcess.start({ runtime: 'process' });
});
afterAll(async () => {
  await server?.dispose();
  await elsewhere?.dispose();
  await Promise.all((databases ?? []).map((database) => database.drop()));
});

/** Kills a command with SIGKILL when half of the tables exist. A table name taken by another transaction makes it wait there. */
async function killInTheMiddle(target: TestDatabase, partition: string, ...args: string[]): Promise<void> {
  const holder = await target.pool.connect();
  await holder.query('begin');
  await holder.query(`create table ${partition} ()`);
  const child = podyard(args);
  const isWaiting = async () =>
    (
      await target.pool.query(
        `select from pg_stat_activity where datname = current_database() and application_name = 'podyard dump'
           and wait_event_type = 'Lock' and query like $1`,
        [`%${partition}%`],
      )
    ).rowCount === 1;
  await until('half of the tables exist', isWaiting, COMMAND_TIME_LIMIT_MS);
  child.kill('SIGKILL');
  await once(child, 'close');
  await holder.query('rollback');
  holder.release();
  const gone = async () =>
    (
      await target.pool.query(
        `select from pg_stat_activity where application_name = 'podyard dump' and datname = current_database()`,
      )
    ).rowCount === 0;
  await until('its connection is gone', gone);
  const left = await target.pool.query('select from users union all select from jobs union all select from settings');
  expect(left.rowCount).toBe(0);
}

async function newestPartition(): Promise<string> {
  const rows = await server.query<{ name: string }>(
    "select max(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'finished_jobs'::regclass and inhrelid::regclass::text <> 'finished_jobs_default'",
  );
  return rows[0]!.name;
}

/** Checks that keys, results, secrets and the queue are unchanged. */
async function checkEverything(at: ServerProcess): Promise<void> {
  const api = new Api({ url: at.url, key: server.key });
  expect(await api.status(endpointId, finished.id)).toEqual(finished);
  for (const [index, id] of jobs.entries()) {
    expect(await api.ended(endpointId, id, COMMAND_TIME_LIMIT_MS)).toMatchObject({
      status: 'COMPLETED',
      output: index,
    });
  }
  const { output } = await api.runToEnd(endpointId, { env: 'TOKEN' });
  expect((output as { env: string }).env).toBe('hunter2');
}

test('a backup is written while jobs run', async () => {
  const api = new Api(server);
  await api.call('POST', '/v2/account/secrets', { name: 'token', value: 'hunter2' });
  endpointId = await api.createEndpoint({
    workers: { min: 0, max: 1 },
    env: { TOKEN: '{{ RUNPOD_SECRET_token }}' },
  });
  await api.runToEnd(endpointId, { echo: 'before' });
  finished = await api.runToEnd(endpointId, { echo: 'kept' });
  const slow = await api.run(endpointId, { echo: 0, delayMs: 8_000 });
  await until('one runs', async () => (await api.status(endpointId, slow.id)).status === 'IN_PROGRESS');
  const queued = await Promise.all([1, 2, 3].map((echo) => api.run(endpointId, { echo })));
  jobs = [slow.id, ...queued.map(({ id }) => id)];

  partitionInBackup = await newestPartition();
  const text = await run(['backup', file, '--with-master-key', '--data-dir', server.dataDir]);
  expect(text).toContain('… jobs: ');
  expect(text).toContain('The master key is inside: anyone with this file can read its secrets.');
  expect(text).not.toContain('hunter2');
  const refused = await runToFailure(['move', '--data-dir', server.dataDir, '--to', databases[0]!.url]);
  expect(refused).toContain('a server runs on the embedded database in');
});

test('a move killed halfway changes nothing; a complete one carries everything there and back', async () => {
  const to = databases[0]!.url;
  const partition = await newestPartition();
  expect(await server.stop()).toBe(0);
  await killInTheMiddle(databases[0]!, partition, 'move', '--data-dir', server.dataDir, '--to', to);
  expect(await run(['move', '--data-dir', server.dataDir, '--to', to])).toContain(
    'Start the server with: podyard serve',
  );
  await expect(server.start()).rejects.toThrow('this database was moved to');
  await run(['move', '--data-dir', server.dataDir, '--database-url', to, '--to', 'embedded']);
  await server.start();
  await checkEverything(server);
});

test('a backup that is killed leaves no connection and no file that looks like one, and the next one removes its part', async () => {
  const { url, pool } = databases[1]!; // nothing was moved away from it
  const place = await mkdtemp(join(tmpdir(), 'podyard-killed-'));
  const args = ['backup', join(place, 'kept'), '--data-dir', elsewhere.dataDir, '--database-url', url];
  try {
    await pool.query(`create table filler as select repeat('x', 1000) as text from generate_series(1, 50000)`); // takes a moment
    const killed = podyard(args);
    for await (const { filename } of watch(place)) if (filename?.endsWith('.part')) break;
    killed.kill('SIGKILL');
    await once(killed, 'close');
    const dumps = "select from pg_stat_activity where application_name = 'podyard dump'";
    await until('its connection is gone', async () => (await pool.query(dumps)).rowCount === 0);
    const [part, ...others] = await readdir(place);
    expect([part, others]).toEqual([expect.stringMatching(/^kept\.\d+-\w{6}\.part$/), []]);
    expect((await stat(join(place, part!))).mode & 0o777).toBe(0o600);
    await run(args);
    expect(await readdir(place)).toEqual(['kept']);
  } finally {
    await pool.query('drop table if exists filler');
    await rm(place, { recursive: true });
  }
});

test('a restore killed halfway leaves nothing; after a complete one another server continues from the backup', async () => {
  await server.dispose();
  const args = ['restore', file, '--data-dir', elsewhere.dataDir, '--database-url', databases[1]!.url];
  const names = (await databases[1]!.pool.query('select name from migrations')).rows;
  await killInTheMiddle(databases[1]!, partitionInBackup, ...args);
  expect((await databases[1]!.pool.query('select name from migrations')).rows).toEqual(names);
  expect(await run(args)).toContain('Then stop the old server before you start one here');
  await elsewhere.start();
  await checkEverything(elsewhere);
});
