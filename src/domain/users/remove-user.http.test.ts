import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { endContainers, ownEverything, PLENTY } from '../../../test/owned-things.ts';
import { type Person, type RestFixture, startRestApp } from '../../../test/rest-app.ts';
import type { UserId } from '../../core/ids.ts';
import type { Pool } from '../../db/pool.ts';
import { removeUser } from './remove-user.ts';

let rest: RestFixture;
let admin: Person;
let dora: Person;
beforeAll(async () => {
  rest = await startRestApp({ capacity: PLENTY });
  admin = await rest.addPerson('admin');
});
afterAll(() => rest.close());
let number = 0;
beforeEach(async () => {
  dora = await rest.addPerson(`dora-${++number}`);
});

const USERS = '/v2/account/users';
const remove = (id: UserId, query = '') => rest.call('DELETE', `${USERS}/${id}${query}`, { key: admin.key });
const read = (id: UserId) => rest.call('GET', `${USERS}/${id}`, { key: admin.key });
const step = (id: UserId, pool: Pool = rest.database.pool) => removeUser({ pool, bus: rest.bus }, id);

/** Tables that outlive a user: use, for the books. */
const BOOKS = new Set(['usage', 'usage_days', 'pod_runs']);

/** The tables with rows of a user. */
async function tablesOf(id: UserId): Promise<string[]> {
  const { pool } = rest.database;
  const { rows } = await pool.query<{ name: string }>(
    `select table_name as name from information_schema.columns
     where column_name = 'user_id' and table_schema = current_schema() order by 1`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const { rowCount } = await pool.query(`select from ${name} where user_id = $1 limit 1`, [id]);
    if (rowCount) found.push(name);
  }
  return found.filter((name) => !BOOKS.has(name));
}

/** Stores a line of a worker whose record has been deleted, of an endpoint that the user paid for. */
async function storeOldLine(endpointId: string, userId: string): Promise<void> {
  await rest.database.pool.query(
    `insert into log_lines (workload_id, endpoint_id, ts, source, line) values ('long-gone', $1, now(), 'container', 'x')`,
    [endpointId],
  );
  await rest.database.pool.query(
    `insert into usage_days (user_id, day, kind, resource_id, gpu_seconds, vcpu_seconds, gb_seconds, gpu_amount, cpu_amount, storage_amount)
     values ($1, current_date, 'SERVERLESS', $2, 1, 0, 0, 0, 0, 0) on conflict do nothing`,
    [userId, endpointId],
  );
}

test('a user is deleted with everything they own, as far as it can be at each moment, with the progress shown', async () => {
  const owned = await ownEverything(rest, dora);
  const others = await ownEverything(rest, rest.bob);
  await rest.call('PATCH', `${USERS}/${dora.userId}/limits`, { key: admin.key, body: { pods: 7 } });
  const plan = await rest.call('GET', `${USERS}/${dora.userId}/removal`, { key: admin.key });
  const all = { endpoints: 1, workers: 1, clusters: 0, pods: 1, volumes: 1, templates: 1, secrets: 1, registries: 2 };
  expect(plan.json()).toEqual({ owned: all, renamed: [], exceeded: [] });
  const response = await remove(dora.userId);
  expect([response.statusCode, response.json().removal.remaining]).toEqual([202, all]);
  const refused = await rest.call('GET', '/v2/pods', { key: dora.key });
  expect([refused.statusCode, refused.json().detail]).toEqual([
    403,
    'this account is being deleted: ask an admin of this server',
  ]);
  const waiting = { ...all, endpoints: 0 };
  expect(await step(dora.userId)).toEqual(waiting);
  expect((await read(dora.userId)).json().removal.remaining).toEqual(waiting);
  await endContainers(rest);
  await storeOldLine(owned.endpoint, dora.userId);
  await storeOldLine(others.endpoint, dora.userId); // it was hers once
  expect(await step(dora.userId)).toBeNull();
  expect((await read(dora.userId)).statusCode).toBe(404);
  expect(await tablesOf(dora.userId)).toEqual([]);
  const { pool } = rest.database;
  expect((await pool.query('select volume_id from volume_removals')).rows).toContainEqual({ volume_id: owned.volume });
  expect((await pool.query('select from log_lines where workload_id = $1', [owned.worker])).rowCount).toBe(0);
  const linesOf = async (id: string) =>
    (await pool.query('select from log_lines where endpoint_id = $1', [id])).rowCount;
  expect([await linesOf(owned.endpoint), await linesOf(others.endpoint)]).toEqual([0, 1 + 1]);
  for (const path of [`serverless/${others.endpoint}`, `pods/${others.pod}`, `templates/${others.template}`]) {
    expect((await rest.call('GET', `/v2/${path}`, { key: rest.bob.key })).statusCode).toBe(200);
  }
  expect((await rest.call('GET', '/v2/pods', { key: dora.key })).statusCode).toBe(401);
});

/** A pool whose process is killed before its n-th statement: from then on nothing is written, and nothing is committed. */
function killedBefore(pool: Pool, n: number): Pool {
  let left = n;
  const check = () => {
    if (left-- <= 0) throw new Error('killed');
  };
  return {
    options: pool.options,
    query: (...args: Parameters<Pool['query']>) => {
      check();
      return pool.query(...args);
    },
    connect: async () => {
      const client = await pool.connect();
      const query = client.query.bind(client) as (...args: unknown[]) => unknown;
      return {
        query: (text: unknown, ...more: unknown[]) => {
          if (text === 'rollback') return query(text);
          check();
          return query(text, ...more);
        },
        release: () => client.release(),
      };
    },
    emit: () => true,
  } as unknown as Pool;
}

test('a deletion that is killed before any of its statements continues, and nothing is half done', async () => {
  await ownEverything(rest, dora);
  await remove(dora.userId);
  let statements = 0;
  for (let isDeleted = false; !isDeleted; statements++) {
    const result = await step(dora.userId, killedBefore(rest.database.pool, statements)).catch((error: Error) => {
      expect(error.message).toBe('killed');
      return undefined;
    });
    isDeleted = result === null;
    const orphans = await rest.database.pool.query(
      `select from releases r where not exists (select from endpoints e where e.id = r.endpoint_id)
       union all select from workers w where user_id = $1 and wanted = 'RUN'
         and not exists (select from endpoints e where e.id = w.endpoint_id)`,
      [dora.userId],
    );
    expect(orphans.rowCount).toBe(0);
    if (result !== undefined) await endContainers(rest);
    expect(statements).toBeLessThan(200);
  }
  expect(statements).toBeGreaterThan(10);
  expect(await tablesOf(dora.userId)).toEqual([]);
});

test('what a request of the last moment creates is deleted too', async () => {
  await remove(dora.userId);
  const { pool } = rest.database;
  await pool.query("insert into secrets (id, user_id, name, value) values ('late', $1, 'late', '\\x00')", [
    dora.userId,
  ]);
  expect(await step(dora.userId)).toBeNull();
  expect(await tablesOf(dora.userId)).toEqual([]);
});

test('the last active admin, and a user who is being deleted, cannot be deleted; an admin may delete themselves', async () => {
  const last = await remove(admin.userId);
  expect([last.statusCode, last.json().detail]).toEqual([
    409,
    "'admin' is the only active admin and cannot be deleted: make another one first",
  ]);
  await remove(dora.userId);
  for (const [method, path, body] of [
    ['DELETE', ''],
    ['POST', '/resume'],
    ['POST', '/suspend', {}],
    ['PATCH', '', { role: 'ADMIN' }],
  ] as const) {
    const response = await rest.call(method, `${USERS}/${dora.userId}${path}`, {
      key: admin.key,
      ...(body && { body }),
    });
    expect([response.statusCode, response.json().detail]).toEqual([409, `'dora-${number}' is being deleted`]);
  }
  const eva = (await rest.call('POST', USERS, { key: admin.key, body: { name: 'eva', role: 'ADMIN' } })).json();
  expect((await rest.call('DELETE', `${USERS}/${eva.userId}`, { key: eva.key.secret })).statusCode).toBe(202);
  expect(await step(eva.userId)).toBeNull();
});
