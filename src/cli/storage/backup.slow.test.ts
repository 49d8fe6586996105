import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { testTerminal } from '../../../test/test-terminal.ts';
import { silentLogger } from '../../core/logger.ts';
import { readMasterKeys } from '../../core/master-key.ts';
import { ADVISORY_LOCKS } from '../../db/advisory-locks.ts';
import { Bus } from '../../db/bus.ts';
import { applyMigrations, listMigrations, listOwnTables } from '../../db/migrate.ts';
import type { Actor } from '../../domain/access/actor.ts';
import { createUser } from '../../domain/access/users.ts';
import { change } from '../../domain/change.ts';
import { ensureInstallation } from '../../domain/installation.ts';
import { makePartitions } from '../../domain/jobs/job-retention.ts';
import { refuseMoved } from '../../domain/move-mark.ts';
import { createSecret } from '../../domain/secrets/change-secret.ts';
import { openSecretBox } from '../../domain/secrets/open-secret-box.ts';
import { resolveSecrets } from '../../domain/secrets/resolve-secrets.ts';
import type { Storage } from '../shared/cli-pieces.ts';
import { backUp, restore } from './backup.ts';
import { move } from './move.ts';

const RETENTION = { resultRetentionMs: 1_800_000, syncResultRetentionMs: 300_000 };

function migrationsOfFirstRelease(): string[] {
  const text = readFileSync(new URL('../../../test/fixtures/upgrade/v0.1.0.backup', import.meta.url), 'latin1');
  return JSON.parse(text.slice(text.indexOf('{'), text.indexOf('\n'))).migrations;
}

let source: TestDatabase;
let target: TestDatabase;
let directory: string;
let file: string;
let actor: Actor;
let printed: string[];
let noted: string[];
let terminal: ReturnType<typeof testTerminal>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'podyard-backup-'));
});
afterAll(() => rm(directory, { recursive: true }));
beforeEach(async () => {
  [source, target] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  await rm(directory, { recursive: true });
  directory = await mkdtemp(join(tmpdir(), 'podyard-backup-'));
  file = join(directory, 'backup');
  printed = [];
  noted = [];
  terminal = testTerminal();
  await fill();
});
afterEach(() => Promise.all([source.drop(), target.drop()]));

const storageOf = ({ url }: { url: string }, folder = 'data'): Storage => ({
  dataDir: join(directory, folder),
  databaseUrl: url,
  masterKey: { keys: null, file: join(directory, folder, 'master-key') },
  withEmbedded: () => expect.fail('it has a URL'),
});
const output = () => ({
  print: (text: string) => printed.push(text),
  note: (text: string) => noted.push(text),
  terminal,
});
const write = (withMasterKey = false) => backUp(storageOf(source), { file, withMasterKey, version: '1.2.3' }, output());
const read = (folder = 'new') => restore(storageOf(target, folder), { file }, output());
const moveTo = (from: TestDatabase, to: TestDatabase) => move(storageOf(from), { to: to.url }, output());

/** Data that is hard to copy: long and odd text, bytes, arrays, JSON, nulls, partitions, identities. */
async function fill(): Promise<void> {
  const { pool } = source;
  await ensureInstallation(pool);
  await makePartitions(pool, RETENTION, Date.now());
  actor = {
    userId: (await createUser(pool, { name: 'anna\t\\.\n', email: null })).id,
    keyId: 'k' as never,
    scopes: [{ kind: 'all' }],
  };
  const secretBox = await openSecretBox(pool, storageOf(source).masterKey);
  await change({ pool, bus: { publish: () => {} }, secretBox }, actor, createSecret, {
    name: 'token',
    value: 'hunter2',
    description: null,
  });
  await pool.query(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
     select 'job' || i, 'ep', 'IN_QUEUE', false, false, case i when 7 then repeat('é', 100000) else E'{"a":"\\\\n\\t"}' end,
            now() + interval '1 day', false from generate_series(1, 500) i`,
  );
  await pool.query(
    `insert into finished_jobs (id, keep_until, endpoint_id, status, low_priority, is_sync, input, ttl_ms, attempt,
                                created_at, finished_at, output)
     select 'done' || i, now() + i * interval '1 minute', 'ep', 'COMPLETED', false, false, '{}', 1, 1, now(), now(), '"x"'
     from generate_series(1, 25) i`,
  );
  await pool.query("insert into processes (id, seen_at) values ('old', now())");
}

/** Every row that a copy must have. */
async function contents({ pool }: TestDatabase): Promise<Record<string, string>> {
  const all: Record<string, string> = {};
  for (const table of await listOwnTables()) {
    if (table === 'processes') continue;
    const rows = await pool.query<{ all: string }>(
      `select md5(coalesce(string_agg(t::text, E'\\n' order by t::text), '')) || ' ' || count(*) as all from ${table} t`,
    );
    all[table] = rows.rows[0]!.all;
  }
  return all;
}

const partitionsOf = async ({ pool }: TestDatabase) =>
  (
    await pool.query<{ name: string; bound: string; rows: number }>(
      `select c.relname::text as name, pg_get_expr(c.relpartbound, c.oid) as bound,
              (select count(*) from finished_jobs f where f.tableoid = c.oid) as rows
       from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'finished_jobs'::regclass order by 1`,
    )
  ).rows;

test('a restored database has every row and partition, and its identity sequences continue', async () => {
  const before = await contents(source);
  await write();
  await read();
  expect(await contents(target)).toEqual(before);
  expect(await partitionsOf(target)).toEqual(await partitionsOf(source));
  const insert = (db: TestDatabase) =>
    db.pool.query<{ seq: number }>(
      `insert into log_lines (workload_id, ts, source, line) values ('w', now(), 'system', 'x') returning seq`,
    );
  expect((await insert(target)).rows).toEqual((await insert(source)).rows);
  const queued = await target.pool.query<{ isLater: boolean }>(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
     values ('new', 'ep', 'IN_QUEUE', false, false, '{}', now(), false)
     returning seq > (select max(seq) from jobs) as "isLater"`,
  );
  expect(queued.rows[0]!.isLater).toBe(true);
  expect((await target.pool.query('select from processes')).rowCount).toBe(0);
});

test('rows inserted while a backup is written are not in it, in any table', async () => {
  const before = await contents(source);
  const written = write();
  const user = createUser(source.pool, { name: 'bob', email: null });
  await Promise.all([written, user]);
  await read();
  const after = await contents(target);
  expect([before.users, (await contents(source)).users]).toContain(after.users);
  expect({ ...after, users: '' }).toEqual({ ...before, users: '' });
});

test('the file’s first line describes it and names the key it needs; only its owner can read it', async () => {
  await write();
  const bytes = await readFile(file);
  const line = bytes.toString('utf8', 0, bytes.indexOf('\n'));
  expect(JSON.parse(line.replace(/^podyard-backup /, ''))).toEqual({
    formatVersion: 1,
    podyard: '1.2.3',
    createdAt: expect.any(String),
    migrations: await listMigrations(),
    keyIds: [expect.stringMatching(/^[0-9a-f]{16}$/)],
    holdsMasterKey: false,
  });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(directory)).toEqual(['backup', 'data']);
  expect(noted.join('\n')).toContain(`Keep ${join(directory, 'data/master-key')} too, apart from this file`);
});

test('the file contains no secrets in clear text, and the master key only on request', async () => {
  const key = readMasterKeys(join(directory, 'data/master-key'))![0]!.toString('base64');
  const plain = async () => {
    const bytes = await readFile(file);
    return gunzipSync(bytes.subarray(bytes.indexOf('\n') + 1)).toString('latin1');
  };
  await write();
  expect([(await plain()).includes('hunter2'), (await plain()).includes(key)]).toEqual([false, false]);
  await rm(file);
  await write(true);
  expect([(await plain()).includes('hunter2'), (await plain()).includes(key)]).toEqual([false, true]);
  expect(noted.at(-1)).toContain('The master key is inside');
});

test('a restore installs an included key, and secrets can be decrypted; another database’s key is not overwritten', async () => {
  await write(true);
  await openSecretBox(target.pool, storageOf(target, 'other').masterKey); // creates a key
  await expect(read('other')).rejects.toThrow('remove that key first');
  await read();
  const secretBox = await openSecretBox(target.pool, storageOf(target, 'new').masterKey);
  const env = await resolveSecrets({ pool: target.pool, secretBox }, actor.userId, { X: '{{ RUNPOD_SECRET_token }}' });
  expect(env.X).toBe('hunter2');
});

test('without an included key, a restore names the key that is needed', async () => {
  await write();
  await read();
  expect(noted.at(-1)).toMatch(
    /^Copy the master key \([0-9a-f]{16}\) to .*new\/master-key, or set PODYARD_MASTER_KEY\./,
  );
});

test('neither an existing file nor a database with data is overwritten', async () => {
  await write();
  const before = await readFile(file);
  await expect(write()).rejects.toThrow(`${file} already exists: name another file`);
  expect(await readFile(file)).toEqual(before);
  await createUser(target.pool, { name: 'somebody', email: null });
  await expect(read()).rejects.toThrow('is not empty, and a restore replaces nothing: name an empty one');
  expect((await target.pool.query('select from users')).rowCount).toBe(1);
});

test('a truncated, damaged or modified backup leaves the database empty', async () => {
  await write();
  const whole = await readFile(file);
  const start = whole.indexOf('\n') + 1;
  const body = gunzipSync(whole.subarray(start));
  const flipped = Buffer.from(whole);
  flipped[start + Math.floor((whole.length - start) / 2)]! ^= 0x10;
  const damaged: Record<string, Buffer> = {
    half: whole.subarray(0, whole.length / 2),
    'without its last byte': whole.subarray(0, -1),
    'a bit changed': flipped,
    'packed again without its end': Buffer.concat([whole.subarray(0, start), gzipSync(body.subarray(0, -200))]),
    'another first line': Buffer.concat([
      Buffer.from(whole.toString('utf8', 0, start).replace('1.2.3', '1.2.4')),
      whole.subarray(start),
    ]),
  };
  for (const [what, bytes] of Object.entries(damaged)) {
    await writeFile(file, bytes);
    await expect(read(), what).rejects.toThrow(/is truncated or damaged/);
    expect((await target.pool.query('select from users')).rowCount, what).toBe(0);
  }
  await writeFile(file, whole);
  await read();
  expect(await contents(target)).toEqual(await contents(source));
});

test('a file that is not a backup, or a newer Podyard’s, is rejected with the remedy', async () => {
  await expect(read()).rejects.toThrow(`${file} does not exist`);
  await mkdir(file);
  await expect(read()).rejects.toThrow(`${file} is a folder`);
  await rm(file, { recursive: true });
  const nowhere = { file: join(file, 'backup'), withMasterKey: false, version: '1.2.3' };
  await expect(backUp(storageOf(source), nowhere, output())).rejects.toThrow(
    `there is no folder ${file}: make it first`,
  );
  await writeFile(join(directory, 'in-the-way'), '');
  const inTheWay = { ...nowhere, file: join(directory, 'in-the-way', 'backup') };
  await expect(backUp(storageOf(source), inTheWay, output())).rejects.toThrow(
    `${inTheWay.file} cannot be written: a file is in its place`,
  );
  for (const stream of [
    backUp(storageOf(source), { ...nowhere, file: '-' }, output()),
    restore(storageOf(target), { file: '-' }, output()),
  ]) {
    await expect(stream).rejects.toThrow('- stands for no file here: name one. A file of that name is ./-');
  }
  await writeFile(file, 'PGDMP');
  await expect(read()).rejects.toThrow('is not a Podyard backup');
  await rm(file);
  await write();
  const bytes = await readFile(file);
  const start = bytes.indexOf('\n') + 1;
  const change = (from: RegExp, to: string) =>
    writeFile(
      file,
      Buffer.concat([Buffer.from(bytes.toString('utf8', 0, start).replace(from, to)), bytes.subarray(start)]),
    );
  await change(/"formatVersion":1/, '"formatVersion":2');
  await expect(read()).rejects.toThrow('has format 2, but this Podyard reads format 1: use Podyard 1.2.3 or later');
  await change(/"0001-initial.sql"/, '"0001-initial.sql","9999-future.sql"');
  await expect(read()).rejects.toThrow('is newer than this Podyard: it has migrations 9999-future.sql');
});

test.each([
  ['without secrets', ['0001-initial.sql', '0002-resources.sql']],
  ['of 0.1.0', migrationsOfFirstRelease()],
])('a backup of an older schema (%s) is migrated during the restore', async (_, older) => {
  const last = (await listMigrations()).at(-1)!;
  const client = new pg.Client({ connectionString: source.url });
  await client.connect();
  await client.query('drop schema public cascade; create schema public');
  await applyMigrations(client, older);
  await client.query("insert into users (id, name) values ('u1', 'old')");
  await client.end();
  await write();
  await read();
  const users = await target.pool.query('select name, is_rate_exempt as "isRateExempt" from users');
  expect(users.rows).toEqual([{ name: 'old', isRateExempt: false }]);
  const migrations = await target.pool.query<{ name: string }>('select name from migrations order by name');
  expect(migrations.rows.at(-1)!.name).toBe(last);
  expect((await target.pool.query('select from usage_meter')).rowCount).toBe(1);
});

test('Ctrl-C aborts a backup or a restore and leaves nothing behind', async () => {
  await write();
  terminal.interrupt();
  await expect(read()).rejects.toThrow('abort');
  expect((await target.pool.query('select from users')).rowCount).toBe(0);
  await rm(file);
  await expect(write()).rejects.toThrow('abort');
  expect(await readdir(directory)).toEqual(['data']);
});

test('a restore that was killed after its commit says so when it is run again, until a server has run on the database', async () => {
  await write();
  await read();
  printed.length = 0;
  await read();
  expect(printed).toEqual([expect.stringContaining('restored from this backup by an earlier run')]);
  await target.pool.query('update leadership set epoch = 1');
  await expect(read()).rejects.toThrow('is not empty, and a restore replaces nothing');
});

test('a restore right after a killed one waits until the database has noticed; beside a live one it says so', async () => {
  await write();
  const holder = await target.pool.connect();
  await holder.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.migration]);
  await expect(read()).rejects.toThrow('another Podyard process is migrating or restoring this database');
  const restoring = read();
  setTimeout(() => holder.release(true), 1_000);
  await restoring;
  expect(await contents(target)).toEqual(await contents(source));
});

test('a move copies everything, keeps servers off the old database, and works back the same way', async () => {
  const before = await contents(source);
  await moveTo(source, target);
  expect(await contents(target)).toEqual(before);
  await refuseMoved(target.pool);
  await expect(refuseMoved(source.pool)).rejects.toThrow(/^this database was moved to postgresql:\/\/.* at 20/);
  await expect(moveTo(source, target)).rejects.toThrow('already');
  await expect(write()).rejects.toThrow('was moved to');
  await createUser(target.pool, { name: 'made there', email: null });
  const there = await contents(target);
  await moveTo(target, source); // onto its own older copy
  expect(await contents(source)).toEqual(there);
  await refuseMoved(source.pool);
  await expect(refuseMoved(target.pool)).rejects.toThrow('was moved to');
});

test('a move is rejected while a server runs, to the same database, and to one in use', async () => {
  await expect(moveTo(source, source)).rejects.toThrow('that is the same database');
  const bus = new Bus({ pool: source.pool, databaseUrl: source.url, processId: 'p', logger: silentLogger });
  await bus.start();
  await expect(moveTo(source, target)).rejects.toThrow(/^a server runs on postgresql:\/\/.*: stop it first/);
  await bus.stop();
  const leader = await source.pool.connect();
  await leader.query('select pg_advisory_lock($1)', [ADVISORY_LOCKS.leader]);
  await expect(moveTo(source, target)).rejects.toThrow('a server runs on');
  leader.release(true);
  await ensureInstallation(target.pool);
  await createUser(target.pool, { name: 'other', email: null });
  await expect
    .poll(() => moveTo(source, target).catch((error: Error) => error.message))
    .toContain('is not empty, and a move replaces nothing: name an empty database');
  await refuseMoved(source.pool); // still in use
});

test('an interrupted move keeps servers off the copy, and resumes when run again', async () => {
  const before = await contents(source);
  await moveTo(source, target);
  const mark = (await source.pool.query("select value from settings where key = 'move'")).rows[0].value;
  const arrive = () =>
    target.pool.query("insert into settings values ('move', $1)", [JSON.stringify({ ...mark, state: 'arriving' })]);
  // Killed before the copy's mark was removed: only that remains.
  await arrive();
  await expect(refuseMoved(target.pool)).rejects.toThrow('was interrupted: run podyard move again');
  await moveTo(source, target);
  expect(await contents(target)).toEqual(before);
  // Killed before the source was marked: it stayed in use, so the copy is made again.
  await arrive();
  await source.pool.query("delete from settings where key = 'move'");
  await createUser(source.pool, { name: 'later', email: null });
  const later = await contents(source);
  await moveTo(source, target);
  expect(await contents(target)).toEqual(later);
});

test('an invalid database is rejected before anything is done', async () => {
  const embedded = { ...storageOf(source), databaseUrl: null };
  await expect(move(embedded, { to: 'embedded' }, output())).rejects.toThrow('name the database to move from');
  await expect(move(storageOf(source), { to: 'mysql://x' }, output())).rejects.toThrow('--to must be the URL');
  const nowhere = backUp(embedded, { file, withMasterKey: false, version: '1' }, output());
  await expect(nowhere).rejects.toThrow('there is no database in');
});

test('every table of the migrations is copied, except those excluded on purpose', async () => {
  const tables = await source.pool.query<{ name: string }>(
    `select relname::text as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  );
  const own = await listOwnTables();
  expect(tables.rows.map(({ name }) => name).filter((name) => !own.has(name))).toEqual(['migrations']);
});
