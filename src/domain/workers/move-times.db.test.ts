import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { moveTimes } from './move-times.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const HOUR_MS = 3_600_000;

test('jobs that wait with the default time to live keep it when the clock skips hours', async () => {
  const { pool } = database;
  await pool.query(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, expires_at, has_own_ttl)
     select 'q' || n, 'e', 'IN_QUEUE', false, false, '1', now() + interval '20 hours 15 minutes', n = 1 from generate_series(1, 10001) n`,
  );
  const hoursLeft = async () => {
    const { rows } = await pool.query(
      'select distinct has_own_ttl as own, round(extract(epoch from expires_at - now()) / 3600)::int as left from jobs order by 1, 2',
    );
    return rows.map(({ own, left }) => [own ? 'own' : 'default', left]);
  };
  await moveTimes(pool, HOUR_MS / 2);
  expect(await hoursLeft()).toEqual([
    ['default', 20],
    ['own', 21],
  ]);
  await moveTimes(pool, 48 * HOUR_MS);
  expect(await hoursLeft()).toEqual([
    ['default', 68],
    ['own', 69],
  ]);
  await pool.query('delete from jobs');
});

test('times of live workers and jobs move with the clock; absent ones stay absent, ended workers as they are', async () => {
  const { pool } = database;
  await pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, ready_at, created_at) values
       ('live', 'e', 'u', 1, '', 'RUNNING', '{}', now(), now()), ('over', 'e', 'u', 1, '', 'EXITED', '{}', now(), now())`,
  );
  await pool.query("insert into worker_activity (worker_id, seen_at) values ('live', now())");
  const ages = async () => {
    const { rows } = await pool.query(
      `select w.id, round(extract(epoch from now() - ready_at)) as ready, drain_at as "drainAt",
         round(extract(epoch from now() - seen_at)) as seen from workers w left join worker_activity on worker_id = id
       order by id`,
    );
    return rows;
  };
  await moveTimes(pool, -2 * HOUR_MS);
  expect(await ages()).toEqual([
    { id: 'live', ready: '7200', drainAt: null, seen: '7200' },
    { id: 'over', ready: '0', drainAt: null, seen: null },
  ]);
  await moveTimes(pool, 2 * HOUR_MS);
  expect((await ages())[0]).toMatchObject({ ready: '0', seen: '0' });
});
