import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts';
import type { EndpointId } from '../../core/ids.ts';
import { explainWaiting } from './explain-waiting.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => database.pool.query('delete from workers; delete from log_lines'));

const worker = (id: string, columns: Record<string, unknown>) => {
  const names = Object.keys(columns);
  return database.pool.query(
    `insert into workers (id, endpoint_id, user_id, version, wanted_reason, spec, ${names.join()})
     values ($1, 'e', 'u', 1, '', '{}', ${names.map((_, i) => `$${i + 2}`).join()})`,
    [id, ...Object.values(columns)],
  );
};
const explain = (mayReadLog: boolean) => explainWaiting(database.pool, 'e' as EndpointId, mayReadLog);

test('a key that may not read the log gets the sentence without what the worker printed', async () => {
  const reason = 'it exited with code 1:\nTOKEN=secret\nValueError: no model';
  await worker('w1', { phase: 'EXITED', is_lost: true, phase_reason: reason, exited_at: new Date() });
  expect(await explain(true)).toBe(`the last start failed: ${reason}`);
  expect(await explain(false)).toBe('the last start failed: it exited with code 1');
});

test('neither does it get the last line of a worker that is still starting', async () => {
  await worker('w1', { phase: 'RUNNING' });
  await database.pool.query(
    "insert into log_lines (workload_id, ts, source, line) values ('w1', now(), 'container', 'TOKEN=secret')",
  );
  expect(await explain(true)).toBe('its worker is still starting; its last log line: TOKEN=secret');
  expect(await explain(false)).toBe('its worker is still starting');
});

test('an unhealthy worker has its last line, or the output that its reason ends with', async () => {
  await database.pool.query(
    "insert into log_lines (workload_id, ts, source, line) values ('w1', now(), 'container', 'out of disk space')",
  );
  const columns = { endpoint_type: 'LOAD_BALANCING', phase: 'RUNNING', ready_at: new Date() };
  await worker('w1', { ...columns, phase_reason: 'GET /ping is answered with 500' });
  expect(await explain(true)).toBe(
    'its worker is unhealthy: GET /ping is answered with 500; its last log line: out of disk space',
  );
  expect(await explain(false)).toBe('its worker is unhealthy: GET /ping is answered with 500');
  await database.pool.query("update workers set phase_reason = 'it exited with code 1:\nno model'");
  expect(await explain(true)).toBe('its worker is unhealthy: it exited with code 1:\nno model');
});

test('capacity comes first, for everybody', async () => {
  await worker('w1', { phase: 'PENDING', phase_reason: 'no capacity: none free' });
  for (const mayReadLog of [true, false]) expect(await explain(mayReadLog)).toBe('no capacity: none free');
});
