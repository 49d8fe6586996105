import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { loadDump, withSnapshot } from './dump.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

test('a dump replaces what its own schema left behind: tables, functions and triggers', async () => {
  const there = await createTestDatabase();
  const load = () =>
    withSnapshot(database.url, ({ migrations, records }) =>
      loadDump(there.url, {
        migrations,
        records: records(),
        allowReplacing: () => Promise.resolve(),
        beforeCommit: () => Promise.resolve(),
      }),
    );
  const count = async ({ pool }: TestDatabase) =>
    (
      await pool.query(
        'select (select count(*)::int from migrations) as migrations, (select count(*)::int from leadership) as leadership',
      )
    ).rows;
  await load();
  await load();
  expect(await count(there)).toEqual(await count(database));
  await there.drop();
});
