import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import { insertEndpoint } from '../../../test/insert-endpoint.ts';
import { silentLogger } from '../../core/logger.ts';
import { historyLoop } from './keep-history.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await sql("insert into users (id, name) values ('user', 'user')");
  await insertEndpoint(database.pool, { id: 'e1', user_id: 'user' });
});
afterAll(() => database.drop());

const sql = (text: string, ...values: unknown[]) => database.pool.query(text, values).then((result) => result.rows);
const completed = (span: string) =>
  sql("select completed from history where kind = 'ENDPOINT' and span = $1 order by starts_at", span);

test('runs write minutes, fold hours and delete what is old; two keepers together count nothing twice', async () => {
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  await sql('update history_progress set written_until = $1, usage_until = $1, hours_until = $1', new Date(hour));
  await sql(
    "insert into history (kind, subject, span, starts_at) values ('ENDPOINT', 'e1', 'minute', $1)",
    new Date(hour - 30 * 3_600_000),
  );
  let now = hour + 66_000;
  const clock = { now: () => now };
  const keepers = [1, 2].map(() => historyLoop({ pool: database.pool, logger: silentLogger, clock }));
  const run = () => Promise.all(keepers.map((keeper) => keeper.runOnce()));
  await sql("insert into endpoint_counters (endpoint_id, lane, completed) values ('e1', 'p/finish0', 3)");
  await run();
  expect(await completed('minute')).toEqual([{ completed: 3 }]);
  await sql('update endpoint_counters set completed = 5');
  now += 71 * 60_000;
  await sql('update usage_meter set metered_until = $1', new Date(now));
  await run();
  expect(await completed('minute')).toEqual([{ completed: 3 }, { completed: 2 }]);
  expect(await completed('hour')).toEqual([{ completed: 3 }]);
});
