import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { monotonicClock } from '../core/clock.ts';
import { silentLogger } from '../core/logger.ts';
import { type EmbeddedServer, startEmbeddedServer } from './embedded-server.ts';
import { findPostmaster } from './postmaster.ts';

const PARENT = new URL('../../test/fixtures/embedded-parent.ts', import.meta.url).pathname;
let root: string;
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), `podyard-test-${process.pid}-`)); // a name that the next run's set-up cleans away
  const server = await startEmbeddedServer({ dataDir: join(root, 'made'), logger: silentLogger, isThrowaway: true });
  await server.stop();
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A data directory whose server, if any, ends with the test. */
function newDataDir(): string {
  count += 1;
  const dataDir = join(root, `data-${count}`);
  onTestFinished(() => endServer(dataDir));
  return dataDir;
}

/** The same with a database in it: a copy of one that was made once. */
async function madeDataDir(): Promise<string> {
  const dataDir = newDataDir();
  await promisify(execFile)('cp', ['-a', join(root, 'made'), dataDir]);
  return dataDir;
}

async function endServer(dataDir: string): Promise<void> {
  const found = await findPostmaster(join(dataDir, 'postgres'));
  if (found.state !== 'running') return;
  process.kill(found.pid, 'SIGQUIT');
  await expect.poll(() => findPostmaster(join(dataDir, 'postgres'))).toEqual({ state: 'none' });
}

async function start(dataDir: string, isThrowaway = true): Promise<EmbeddedServer> {
  const server = await startEmbeddedServer({ dataDir, logger: silentLogger, isThrowaway });
  onTestFinished(() => server.stop());
  return server;
}

async function postmasterPid(dataDir: string): Promise<number> {
  const found = await findPostmaster(join(dataDir, 'postgres'));
  if (found.state !== 'running') throw new Error(`no server runs in ${dataDir}`);
  return found.pid;
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client.query(sql).then(
    (result) => client.end().then(() => result.rows),
    (error) => client.end().then(() => Promise.reject(error)),
  );
}

/** Another Podyard process; resolves when its server answers. */
async function startParent(
  dataDir: string,
  command: string[] = [process.execPath],
): Promise<{ process: ChildProcess; url: string; adopted: boolean }> {
  const child = spawn(command[0]!, [...command.slice(1), PARENT, dataDir], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await Promise.race([
    once(createInterface(child.stdout!), 'line'),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`the process ended with ${code}`))),
  ]);
  return { process: child, ...JSON.parse(line as string) };
}

test('of new data, only the database of Podyard has statistics, so autovacuum visits no other', async () => {
  const { databaseUrl } = await start(await madeDataDir());
  const used = 'select datname from pg_stat_database where datname is not null and xact_commit > 0';
  expect(await query(databaseUrl, used)).toEqual([{ datname: 'podyard' }]);
});

test('a new directory becomes a database that keeps its data across a restart', async () => {
  const dataDir = newDataDir();
  const first = await start(dataDir);
  expect(first.adopted).toBe(false);
  await query(first.databaseUrl, 'create table kept as select 42 as answer');
  await first.stop();
  expect(await findPostmaster(join(dataDir, 'postgres'))).toEqual({ state: 'none' });

  const second = await start(dataDir);
  expect(second.adopted).toBe(false);
  expect(await query(second.databaseUrl, 'select answer from kept')).toEqual([{ answer: 42 }]);
  await second.stop();
});

test('without isThrowaway every commit is on disk before it returns', async () => {
  const dataDir = await madeDataDir();
  const server = await start(dataDir, false);
  const settings = await query(
    server.databaseUrl,
    `select name, setting from pg_settings where name in
       ('fsync', 'full_page_writes', 'synchronous_commit', 'listen_addresses', 'wal_level', 'jit') order by name`,
  );
  expect(settings).toEqual([
    { name: 'fsync', setting: 'on' },
    { name: 'full_page_writes', setting: 'on' },
    { name: 'jit', setting: 'off' },
    { name: 'listen_addresses', setting: '' },
    { name: 'synchronous_commit', setting: 'on' },
    { name: 'wal_level', setting: 'minimal' },
  ]);
  await server.stop();
});

test("an operator's settings beside the data directory override the defaults", async () => {
  const dataDir = await madeDataDir();
  await writeFile(join(dataDir, 'postgres.conf'), "work_mem = '7MB'\nmax_connections = 17\n");
  const server = await start(dataDir);
  expect(await query(server.databaseUrl, 'show work_mem')).toEqual([{ work_mem: '7MB' }]);
  expect(await query(server.databaseUrl, 'show max_connections')).toEqual([{ max_connections: '17' }]);
  await server.stop();
});

test('the server of a killed process (SIGKILL) keeps running and is adopted', async () => {
  const dataDir = await madeDataDir();
  const parent = await startParent(dataDir);
  await query(parent.url, 'create table kept as select 1 as n');
  const pid = await postmasterPid(dataDir);
  parent.process.kill('SIGKILL');
  await once(parent.process, 'exit');

  const server = await start(dataDir);
  expect(server.adopted).toBe(true);
  expect(await postmasterPid(dataDir)).toBe(pid);
  expect(await query(server.databaseUrl, 'select n from kept')).toEqual([{ n: 1 }]);
  await server.stop();
  expect(await findPostmaster(join(dataDir, 'postgres'))).toEqual({ state: 'none' });
});

test('a killed server (SIGKILL) is restarted by the live process, with everything that was committed', async () => {
  const dataDir = await madeDataDir();
  const server = await start(dataDir, false);
  await query(server.databaseUrl, 'create table kept as select 1 as n');
  const busy = query(server.databaseUrl, 'select count(*) from generate_series(1, 3e6)').catch(() => {}); // its memory outlives the server's for a while
  const pid = await postmasterPid(dataDir);
  process.kill(pid, 'SIGKILL');
  await expect.poll(() => query(server.databaseUrl, 'select n from kept').catch(() => 'not yet')).toEqual([{ n: 1 }]);
  expect(await postmasterPid(dataDir)).not.toBe(pid);
  await busy;
  await server.stop();
});

test('after everything was killed, the next start recovers the committed rows', async () => {
  const dataDir = await madeDataDir();
  const parent = await startParent(dataDir);
  await query(parent.url, 'create table kept as select 1 as n');
  const pid = await postmasterPid(dataDir);
  parent.process.kill('SIGKILL');
  process.kill(pid, 'SIGKILL');
  const server = await start(dataDir);
  expect(server.adopted).toBe(false);
  expect(await query(server.databaseUrl, 'select n from kept')).toEqual([{ n: 1 }]);
  await server.stop();
});

test('a pid file that names a foreign program is ignored, and the program is left alone', async () => {
  const dataDir = await madeDataDir();
  await (await start(dataDir)).stop();
  const stranger = spawn('sleep', ['60'], { cwd: join(dataDir, 'postgres') });
  onTestFinished(() => void stranger.kill('SIGKILL'));
  const lock = `${stranger.pid}\n${dataDir}/postgres\n1\n5432\n\n\n\nready\n`;
  await writeFile(join(dataDir, 'postgres/postmaster.pid'), lock);
  await writeFile(join(dataDir, 'run/.s.PGSQL.5432.lock'), lock);
  const server = await start(dataDir);
  expect(server.adopted).toBe(false);
  await server.stop();
  expect(stranger.exitCode).toBe(null);
  expect(stranger.signalCode).toBe(null);
});

test.for([
  [
    '99',
    /created by PostgreSQL 99, but this Podyard includes PostgreSQL \d+\. Start the version of Podyard that created it/,
  ],
  ['9.6', /created by PostgreSQL 9, but this Podyard includes PostgreSQL \d+\. Back it up/],
] as const)('data of PostgreSQL %s is refused with a sentence and left as it is', async ([version, sentence]) => {
  const dataDir = newDataDir();
  await mkdir(join(dataDir, 'postgres'), { recursive: true });
  await writeFile(join(dataDir, 'postgres/PG_VERSION'), `${version}\n`);
  await expect(start(dataDir)).rejects.toThrow(sentence);
  expect(await readdir(join(dataDir, 'postgres'))).toEqual(['PG_VERSION']);
});

test('a directory with foreign files is refused and left unchanged', async () => {
  const dataDir = newDataDir();
  await mkdir(join(dataDir, 'postgres'), { recursive: true });
  await writeFile(join(dataDir, 'postgres/letter.txt'), 'dear');
  await expect(start(dataDir)).rejects.toThrow(/is neither empty nor a PostgreSQL data directory/);
  expect(await readdir(join(dataDir, 'postgres'))).toEqual(['letter.txt']);
});

test('leftovers of a killed initialization are removed, the work of a live one is not', async () => {
  const dataDir = newDataDir();
  const dead = spawnSync('true').pid;
  await mkdir(join(dataDir, `postgres.new-${dead}-a/base`), { recursive: true });
  await mkdir(join(dataDir, `postgres.new-${process.ppid}-b`));
  await (await start(dataDir)).stop();
  const names = (await readdir(dataDir)).filter((name) => name.startsWith('postgres.new'));
  expect(names).toEqual([`postgres.new-${process.ppid}-b`]);
});

test('two processes that start on one new directory share a server, which stops with the second', async () => {
  const dataDir = newDataDir();
  const [one, two] = await Promise.all([startParent(dataDir), startParent(dataDir)]);
  expect([one.adopted, two.adopted].sort()).toEqual([false, true]);
  expect(one.url).toBe(two.url);

  one.process.kill('SIGTERM');
  await once(one.process, 'exit');
  expect(await query(two.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  two.process.kill('SIGTERM');
  await once(two.process, 'exit');
  expect(await findPostmaster(join(dataDir, 'postgres'))).toEqual({ state: 'none' });
});

test('of two processes that stop together, one stops the server', async () => {
  const dataDir = await madeDataDir();
  const [one, two] = await Promise.all([start(dataDir), start(dataDir)]);
  await Promise.all([one.stop(), two.stop(), one.stop()]);
  expect(await findPostmaster(join(dataDir, 'postgres'))).toEqual({ state: 'none' });
});

test('a process that starts while another one stops gets a server that keeps running', async () => {
  const dataDir = await madeDataDir();
  let server = await start(dataDir);
  for (const pauseMs of [0, 1, 2, 3, 5, 8, 12, 20]) {
    const stopping = server.stop();
    await sleep(pauseMs);
    server = await start(dataDir);
    const url = server.databaseUrl;
    await stopping;
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
  }
  await server.stop();
  expect(await findPostmaster(join(dataDir, 'postgres'))).toEqual({ state: 'none' });
});

test('a process that starts does not get a server that was told to stop, however late that hears it', async () => {
  const dataDir = await madeDataDir();
  const first = await start(dataDir);
  const [postmaster, url] = [await postmasterPid(dataDir), first.databaseUrl];
  const other = new pg.Client({ connectionString: `${url}&application_name=podyard+test` });
  other.on('error', () => {}); // the server's end
  await other.connect();
  // The other client is waited for until it ends, however long a busy machine takes to start the second process.
  const clock = vi.spyOn(monotonicClock, 'now').mockReturnValue(monotonicClock.now());
  onTestFinished(() => clock.mockRestore());
  const stopping = first.stop(); // holds off who starts
  const starting = start(dataDir);
  const waiting = "select from pg_stat_activity where application_name = 'podyard keeper' and wait_event = 'advisory'";
  await expect.poll(() => other.query(waiting).then(({ rowCount }) => rowCount), { interval: 5 }).toBe(1);
  process.kill(postmaster, 'SIGSTOP');
  await other.end();
  await Promise.race([starting, sleep(500)]);
  process.kill(postmaster, 'SIGCONT');
  const second = await starting;
  await stopping;
  expect(await postmasterPid(dataDir)).not.toBe(postmaster);
  expect(await query(second.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
});

test('a path too long for a socket works through a private temporary directory', async () => {
  const dataDir = join(newDataDir(), 'd'.repeat(120));
  onTestFinished(() => endServer(dataDir));
  const server = await start(dataDir);
  const socketDir = new URL(server.databaseUrl).searchParams.get('host')!;
  onTestFinished(() => rm(socketDir, { recursive: true, force: true }));
  expect(socketDir.startsWith(tmpdir())).toBe(true);
  expect(await query(server.databaseUrl, 'select 1 as one')).toEqual([{ one: 1 }]);
  await server.stop();

  await chmod(socketDir, 0o755);
  await expect(start(dataDir)).rejects.toThrow(/must be a directory of this user with mode 0700/);
});

test('a server that cannot start says why', async () => {
  const dataDir = await madeDataDir();
  await writeFile(join(dataDir, 'postgres.conf'), 'shared_buffers = plenty\n');
  await expect(start(dataDir)).rejects.toThrow(/could not be started: .*shared_buffers/);
});

test.skipIf(process.getuid?.() !== 0)(
  "a directory of somebody else that root's PostgreSQL may not enter is refused with advice",
  async () => {
    const home = join(newDataDir(), 'home');
    spawnSync('install', ['-d', '-o', '65534', '-g', '65534', '-m', '0700', home]);
    await expect(start(join(home, 'data'))).rejects.toThrow(/Permission denied.*run Podyard as their owner/);
  },
);

const asNobody = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', process.execPath];
const canBeNobody =
  process.getuid?.() === 0 && spawnSync(asNobody[0]!, [...asNobody.slice(1), '--check', PARENT]).status === 0;

test.skipIf(!canBeNobody)('an ordinary user runs it too', async () => {
  const home = join(tmpdir(), `podyard-nobody-${process.pid}`);
  const dataDir = join(home, 'data');
  onTestFinished(() => endServer(dataDir).then(() => rm(home, { recursive: true, force: true })));
  spawnSync('install', ['-d', '-o', '65534', '-g', '65534', '-m', '0700', home]);
  const parent = await startParent(dataDir, asNobody);
  const status = await readFile(`/proc/${await postmasterPid(dataDir)}/status`, 'utf8');
  expect(/^Uid:\t(\d+)/m.exec(status)?.[1]).toBe('65534');
  parent.process.kill('SIGTERM');
  await once(parent.process, 'exit');
});
