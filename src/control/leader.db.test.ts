import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { silentLogger } from '../core/logger.ts';
import { createPool, guardPool } from '../db/pool.ts';
import { sqlState } from '../db/sql-state.ts';
import { Leadership } from './leader.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** Records what happens to it; `prepare` runs first in each term. */
function candidate(
  events: string[],
  name: string,
  {
    prepare = async () => {},
    databaseUrl = database.url,
  }: { prepare?: () => Promise<void>; databaseUrl?: string } = {},
): Leadership {
  return new Leadership({
    databaseUrl,
    logger: silentLogger,
    createTerm: () => ({
      prepare: async () => {
        events.push(`${name} prepares`);
        await prepare();
      },
      start: () => void events.push(`${name} leads`),
      stop: async () => void events.push(`${name} stops`),
      close: () => void events.push(`${name} closes`),
    }),
  });
}

test('prepare runs before start, on the only process that leads', async () => {
  const events: string[] = [];
  const first = candidate(events, 'first');
  const second = candidate(events, 'second');
  await first.start();
  await second.start();
  expect(events).toEqual(['first prepares', 'first leads']);
  await first.stop();
  await expect.poll(() => events, { timeout: 10_000 }).toContain('second leads');
  expect(events.slice(2)).toEqual(['first stops', 'first closes', 'second prepares', 'second leads']);
  await second.stop();
});

test('when prepare fails no process leads, and the lock is free for another process or the next attempt', async () => {
  const events: string[] = [];
  let isBroken = true;
  const fragile = candidate(events, 'fragile', {
    prepare: async () => {
      if (isBroken) throw new Error('not now');
    },
  });
  await fragile.start();
  expect(events).toEqual(['fragile prepares', 'fragile closes']);
  const other = candidate(events, 'other');
  await other.start();
  await expect.poll(() => events, { timeout: 10_000 }).toContain('other leads');
  isBroken = false;
  await other.stop();
  await expect.poll(() => events, { timeout: 10_000 }).toContain('fragile leads');
  await fragile.stop();
  expect(events.at(-1)).toBe('fragile closes');
});

test('a leader behind a connection that went silent closes its own before another one leads, within 10 s', async () => {
  const events: string[] = [];
  const link = await SilentLink.open(database.url);
  const cut = candidate(events, 'cut', { databaseUrl: link.databaseUrl });
  await cut.start();
  const standby = candidate(events, 'standby');
  await standby.start();
  onTestFinished(async () => {
    await Promise.all([cut.stop(), standby.stop()]);
    await link.close();
  });
  link.goSilent();
  await expect.poll(() => events, { timeout: 10_000 }).toContain('standby leads');
  expect(events).toEqual(['cut prepares', 'cut leads', 'cut closes', 'cut stops', 'standby prepares', 'standby leads']);
});

test('a session of an earlier epoch writes nothing, and others are not affected', async () => {
  const leader = candidate([], 'leader');
  await leader.start();
  const { rows } = await database.pool.query<{ epoch: number }>('select epoch from leadership');
  const { epoch } = rows[0]!;
  const write = (settings: Record<string, string>) => {
    const pool = createPool({
      databaseUrl: database.url,
      applicationName: 'podyard test',
      maxConnections: 1,
      settings,
    });
    return pool.query('update workers set wanted = wanted').finally(() => pool.end());
  };
  await write({ 'podyard.epoch': String(epoch) });
  await write({});
  const refused = await write({ 'podyard.epoch': String(epoch - 1) }).catch((error: unknown) => error);
  expect(sqlState(refused)).toBe('PY001');
  await leader.stop();
});

test('a write that began in an earlier epoch delays the next one until it is committed or rolled back', async () => {
  const { rows } = await database.pool.query<{ epoch: number }>('select epoch from leadership');
  const pool = createPool({
    databaseUrl: database.url,
    applicationName: 'podyard test', // not ended by the successor, unlike a session of control
    maxConnections: 1,
    settings: { 'podyard.epoch': String(rows[0]!.epoch) },
  });
  const late = await pool.connect();
  await late.query('begin');
  await late.query('update workers set wanted = wanted');
  const events: string[] = [];
  const leader = candidate(events, 'next');
  const started = leader.start();
  await expect
    .poll(
      async () => (await database.pool.query(`select from pg_locks where objid = 7063931 and not granted`)).rowCount,
    )
    .toBe(1);
  expect(events).toEqual([]);
  await late.query('commit');
  await started;
  expect(events).toContain('next leads');
  await expect(late.query('update workers set wanted = wanted')).rejects.toMatchObject({ code: 'PY001' });
  late.release();
  await pool.end();
  await leader.stop();
});

test('a closed pool refuses statements at once, and ends those in flight', async () => {
  let isAllowed = true;
  const pool = createPool({ databaseUrl: database.url, applicationName: 'podyard test', maxConnections: 2 });
  const close = guardPool(pool, () => isAllowed);
  await pool.query('select 1');
  isAllowed = false;
  await expect(pool.query('select 1')).rejects.toThrow('does not lead');
  isAllowed = true;
  const slow = pool.query('select pg_sleep(30)');
  slow.catch(() => {});
  await expect
    .poll(
      async () => (await database.pool.query(`select from pg_stat_activity where query like '%pg_sleep(30)'`)).rowCount,
    )
    .toBe(1);
  close();
  await expect(slow).rejects.toThrow();
  await expect(pool.query('select 1')).rejects.toThrow('does not lead');
});

test('every table is fenced, except those that control does not write', async () => {
  const { rows } = await database.pool.query<{ name: string }>(
    `select c.relname::text as name from pg_class c
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and not exists (select from pg_trigger t where t.tgrelid = c.oid and t.tgname = 'fence')
     order by 1`,
  );
  expect(rows.map(({ name }) => name)).toEqual([
    'audit_entries', // written with a change, by whoever makes it
    'leadership',
    'master_key',
    'migrations',
    'processes',
    'releases',
    'sealed_settings', // by whichever process needs one first
    'served_models',
  ]);
});

/** A relay to the database that stops forwarding without closing anything, as a cut network does. */
class SilentLink {
  readonly databaseUrl: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  static async open(databaseUrl: string): Promise<SilentLink> {
    const url = new URL(databaseUrl.replace('postgresql:///', 'postgresql://host/'));
    const host = url.searchParams.get('host');
    const port = Number(url.port || 5432);
    const sockets = new Set<Socket>();
    const server = createServer((near) => {
      const far = host?.startsWith('/') ? dial(`${host}/.s.PGSQL.5432`) : dial(port, url.hostname);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(from);
        from.on('error', () => {});
        from.on('close', () => to.destroy());
        from.pipe(to);
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port: own } = server.address() as { port: number };
    url.searchParams.delete('host');
    const user = url.searchParams.get('user') ?? url.username;
    return new SilentLink(`postgresql://${user}@127.0.0.1:${own}${url.pathname}`, server, sockets);
  }

  private constructor(databaseUrl: string, server: Server, sockets: Set<Socket>) {
    this.databaseUrl = databaseUrl;
    this.#server = server;
    this.#sockets = sockets;
  }

  /** Forwards nothing from now on, the end of a connection included. */
  goSilent(): void {
    this.#server.close();
    for (const socket of this.#sockets) {
      socket.removeAllListeners('close').unpipe();
      socket.pause();
    }
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
