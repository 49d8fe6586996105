import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listMigrations } from '../../src/db/migrate.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, type Job, until } from './api.ts';
import { COMMAND_TIME_LIMIT_MS, run } from './podyard-command.ts';
import { ServerProcess } from './server-process.ts';

/** Data of the first release, written by that release (test/fixtures/upgrade/make.ts). */
const FIXTURE = new URL('../fixtures/upgrade/v0.1.0', import.meta.url).pathname;

interface Content {
  key: string;
  invokeKey: string;
  registry: string;
  pods: { running: string; stopped: string };
  frozen: { endpoint: string; worker: string };
  queue: { endpoint: string; finished: Job[]; running: string; queued: string[] };
}

let content: Content;
let database: TestDatabase;
let server: ServerProcess;
let api: Api;
beforeAll(async () => {
  content = JSON.parse(await readFile(`${FIXTURE}.json`, 'utf8'));
  database = await createTestDatabase({ isEmpty: true });
  server = await ServerProcess.create({ runtime: 'process', databaseUrl: database.url });
  const text = await run([
    'restore',
    `${FIXTURE}.backup`,
    ...['--data-dir', server.dataDir, '--database-url', database.url],
  ]);
  expect(text).toContain('Then stop the old server before you start one here');
  await moveToPresent();
  await server.start();
  api = new Api({ url: server.url, key: content.key });
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
});

/**
 * Moves all times by the age of the backup, so that it seems to be written just now: nothing has expired meanwhile. The audit log,
 * which allows no update, is empty.
 */
async function moveToPresent(): Promise<void> {
  const text = await readFile(`${FIXTURE}.backup`, 'latin1');
  const { createdAt } = JSON.parse(text.slice(text.indexOf('{'), text.indexOf('\n'))) as { createdAt: string };
  const { rows } = await database.pool.query<{ name: string; moved: string }>(
    `select c.relname as name, string_agg(format('%1$I = %1$I + $1::interval', a.attname), ', ') as moved
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and a.atttypid = 'timestamptz'::regtype and a.attnum > 0 and not a.attisdropped
       and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'append_only')
     group by c.relname`,
  );
  const age = `${Date.now() - Date.parse(createdAt)} milliseconds`;
  for (const { name, moved } of rows) await database.pool.query(`update ${name} set ${moved}`, [age]);
}

const ended = (id: string) => api.ended(content.queue.endpoint, id, COMMAND_TIME_LIMIT_MS);

test('the schema is migrated', async () => {
  const { rows } = await database.pool.query<{ name: string }>('select name from migrations order by name');
  expect(rows.map(({ name }) => name)).toEqual(await listMigrations());
});

test('results are as they were', async () => {
  for (const job of content.queue.finished) expect(await api.status(content.queue.endpoint, job.id)).toEqual(job);
});

test('queued jobs run, and the one whose worker is gone is run again, each once', async () => {
  const { running, queued } = content.queue;
  expect(await ended(running)).toMatchObject({ status: 'COMPLETED', output: 'ran', retries: 1 });
  const outputs = ['queued', 'queued with low priority', 'queued with a ttl'];
  for (const [index, output] of outputs.entries()) {
    const job = await ended(queued[index]!);
    expect(job).toMatchObject({ status: 'COMPLETED', output });
    expect(job.retries ?? 0).toBe(0);
  }
});

test('a frozen worker that is gone is replaced', async () => {
  const { endpoint, worker } = content.frozen;
  const job = await api.runToEnd(endpoint, { echo: 'after the upgrade' }, undefined, COMMAND_TIME_LIMIT_MS);
  expect(job).toMatchObject({ status: 'COMPLETED', output: 'after the upgrade' });
  expect(job.workerId).not.toBe(worker);
});

test('secrets, templates, volumes and registries are there, and a secret can be read', async () => {
  const { output } = await api.runToEnd(content.queue.endpoint, { env: 'TOKEN' });
  expect(output).toEqual({ env: 'hunter2' });
  const lists = ['account/secrets', 'templates', 'network-volumes', 'registries'];
  const texts = await Promise.all(
    lists.map(async (list) => JSON.stringify(await api.call<object>('GET', `/v2/${list}`))),
  );
  for (const [index, name] of ['token', 'base', 'models', 'hub'].entries()) {
    expect(texts[index]).toContain(`"name":"${name}"`);
  }
});

test('a pod is started again; one that was stopped stays stopped', async () => {
  const status = async (id: string) => (await api.call<{ status: string }>('GET', `/v2/pods/${id}`)).status;
  const { running, stopped } = content.pods;
  await until('the pod runs', async () => (await server.listWorkloads()).some(({ id }) => id === running));
  await until('the pod is RUNNING', async () => (await status(running)) === 'RUNNING');
  expect(await status(stopped)).toBe('EXITED');
});

test('a key still permits what it did, and no more', async () => {
  const invoke = new Api({ url: server.url, key: content.invokeKey });
  expect(await invoke.runToEnd(content.queue.endpoint, { echo: 'by key' })).toMatchObject({ output: 'by key' });
  await expect(invoke.call('GET', '/v2/serverless')).rejects.toMatchObject({ status: 403 });
});

test('a version that lacks a migration names it and does not start, unless the migration is rollback-safe', async () => {
  expect(await server.stop()).toBe(0);
  await database.pool.query(`insert into migrations (name) values ('9999-future.sql')`);
  await expect(server.start()).rejects.toThrow(
    'the database is newer than this Podyard: it has migrations 9999-future.sql. Start the version that created it, or a later one.',
  );
  await database.pool.query(`update migrations set is_rollback_safe = true where name = '9999-future.sql'`);
  await server.start();
  expect(await api.status(content.queue.endpoint, content.queue.running)).toMatchObject({ output: 'ran' });
});
