import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import type { EndpointId } from '../../core/ids.ts';
import { createPool } from '../../db/pool.ts';
import { listActiveEndpoints, listEndpointDemand } from './endpoint-demand.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query("insert into users (id, name) values ('u', 'anna')");
});
afterAll(() => database.drop());
beforeEach(async () => {
  await database.pool.query('delete from workers');
  await database.pool.query('delete from endpoints');
});

async function addEndpoints(...ids: string[]): Promise<void> {
  for (const id of ids) await insertEndpoint(database.pool, { id, user_id: 'u', version: 2 });
}

let serial = 0;
/** A worker that ended `secondsAgo`; with `readyAgo` it had been ready. */
async function addEnded(secondsAgo: number, change: { version?: number; readyAgo?: number; isLost?: boolean } = {}) {
  serial += 1;
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, exited_at, ready_at, is_lost, phase_reason)
     values ($1, 'e', 'u', $2, '', '{}', 'EXITED', now() - $3 * interval '1 second', now() - $4::float8 * interval '1 second', $5, $6)`,
    [
      `w${serial}`,
      change.version ?? 2,
      secondsAgo,
      change.readyAgo ?? null,
      change.isLost ?? true,
      `exit ${secondsAgo}`,
    ],
  );
}
const failures = async () => (await listEndpointDemand(database.pool, ['e' as EndpointId]))[0]!;

test('failed starts of the newest release count, with the time and the reason of the last', async () => {
  await addEndpoints('e');
  expect(await failures()).toMatchObject({ failedStarts: 0, lastFailedAt: null, lastFailure: null });
  for (const seconds of [30, 20, 10]) await addEnded(seconds);
  await addEnded(5, { version: 1 });
  await addEnded(4, { isLost: false });
  expect(await failures()).toMatchObject({ failedStarts: 3, lastFailure: 'exit 10' });
});

test('only failures since a worker of that release was ready count, whether it is live or has ended', async () => {
  await addEndpoints('e');
  await addEnded(30);
  await addEnded(1, { readyAgo: 25 });
  await addEnded(20);
  expect(await failures()).toMatchObject({ failedStarts: 1, lastFailure: 'exit 20' });
  await addEnded(0, { readyAgo: 15 });
  await database.pool.query("update workers set phase = 'RUNNING', exited_at = null where ready_at is not null");
  expect(await failures()).toMatchObject({ failedStarts: 0 });
});

test('thousands of workers that ended long ago neither count nor hide recent ones', async () => {
  await addEndpoints('e');
  await database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, phase, exited_at, is_lost)
     select 'old' || n, 'e', 'u', 2, '', '{}', 'EXITED', now() - interval '1 day', true from generate_series(1, 3000) n`,
  );
  await addEnded(10);
  const { failedStarts, lastFailure } = await failures();
  expect([failedStarts <= 64, failedStarts > 20, lastFailure]).toEqual([true, true, 'exit 10']);
});

test('active endpoints come in pages, each with the start of the next', async () => {
  await addEndpoints('a', 'b', 'c', 'd', 'e');
  await addEnded(1); // an ended worker makes nobody active
  await database.pool.query("update endpoints set workers_min = 1 where id in ('b', 'd')");
  const list = (afterId: string, range: number, limit = 10) =>
    listActiveEndpoints(database.pool, afterId, { range, limit });
  expect(await list('', 2)).toEqual({ ids: ['b'], lastId: 'b' });
  expect(await list('b', 2)).toEqual({ ids: ['d'], lastId: 'd' });
  expect(await list('d', 2)).toEqual({ ids: [], lastId: null });
  expect(await list('', 5)).toEqual({ ids: ['b', 'd'], lastId: 'e' });
  expect(await list('', 9)).toEqual({ ids: ['b', 'd'], lastId: null });
  expect(await list('', 9, 1)).toEqual({ ids: ['b'], lastId: 'b' });
});

test('with generic plans, the demand of one endpoint is planned once', async () => {
  await addEndpoints('e');
  const pool = createPool({
    databaseUrl: database.url,
    applicationName: 'test',
    maxConnections: 1,
    settings: { plan_cache_mode: 'force_generic_plan' },
  });
  for (let i = 0; i < 8; i++) await listEndpointDemand(pool, ['e' as EndpointId]);
  const { rows } = await pool.query(
    `select custom_plans::int as custom, generic_plans::int as generic from pg_prepared_statements where name = 'endpoint-demand'`,
  );
  await pool.end();
  expect(rows).toEqual([{ custom: 0, generic: 8 }]);
});
