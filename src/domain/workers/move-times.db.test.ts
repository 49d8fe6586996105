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
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, created_at, expires_at, has_own_ttl)
     select 'q' || n, 'e', 'IN_QUEUE', false, false, '1', now() - interval '4 hours', now() + interval '20 hours 15 minutes', n = 1 from generate_series(1, 10001) n`,
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

test.each([2, -2])('what began after the clock jumped by %i hours stays as it is', async (hours) => {
  const { pool } = database;
  await pool.query(
    `insert into jobs (id, endpoint_id, status, low_priority, is_sync, input, created_at, started_at, expires_at, has_own_ttl) values
       ('before', 'e', 'IN_PROGRESS', false, false, '1', $1::timestamptz, $1, $1 + interval '6 hours', true),
       ('between', 'e', 'IN_PROGRESS', false, false, '1', $1, now(), $1 + interval '6 hours', true),
       ('after', 'e', 'IN_PROGRESS', false, false, '1', now(), now(), now() + interval '6 hours', true)`,
    [new Date(Date.now() - (hours + 1) * HOUR_MS)],
  );
  await pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, not_before)
     values ('new', 'e', 'u', 1, '', 'PENDING', '{}', now() + interval '1 minute')`,
  );
  await moveTimes(pool, hours * HOUR_MS);
  const { rows } = await pool.query(
    `select id, round(extract(epoch from now() - created_at) / 3600)::int as created,
       round(extract(epoch from now() - started_at) / 3600)::int as started,
       round(extract(epoch from expires_at - now()) / 3600)::int as left from jobs order by id desc`,
  );
  expect(rows).toEqual([
    { id: 'between', created: 1, started: 0, left: 5 },
    { id: 'before', created: 1, started: 1, left: 5 },
    { id: 'after', created: 0, started: 0, left: 6 },
  ]);
  const due = await pool.query(
    "select not_before < now() + interval '2 minutes' as soon from workers where id = 'new'",
  );
  expect(due.rows).toEqual([{ soon: true }]);
  await pool.query('delete from jobs');
  await pool.query('delete from workers');
});

test('times of live workers and jobs move with the clock; absent ones stay absent, ended workers as they are', async () => {
  const { pool } = database;
  // as they were written in the last moments before the clock was set back by two hours
  await pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, phase, spec, ready_at) values
       ('live', 'e', 'u', 1, '', 'RUNNING', '{}', now() + interval '1 hour'), ('over', 'e', 'u', 1, '', 'EXITED', '{}', now())`,
  );
  await pool.query("insert into worker_activity (worker_id, seen_at) values ('live', now() + interval '2 hours')");
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
    { id: 'live', ready: '3600', drainAt: null, seen: '0' },
    { id: 'over', ready: '0', drainAt: null, seen: null },
  ]);
});
