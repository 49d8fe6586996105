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

test('a database of a newer Podyard stays as it is, even if it holds nothing', async () => {
  const there = await createTestDatabase();
  await there.pool.query("create table future (id text); insert into migrations (name) values ('9999-future.sql')");
  const load = withSnapshot(database.url, ({ migrations, records }) =>
    loadDump(there.url, {
      migrations,
      records: records(),
      allowReplacing: () => Promise.resolve(),
      beforeCommit: () => Promise.resolve(),
    }),
  );
  await expect(load).rejects.toThrow(
    'the database to load into is newer than this Podyard: it has migrations 9999-future.sql',
  );
  const { rows } = await there.pool.query("select name from migrations where name > '9'");
  expect(rows).toEqual([{ name: '9999-future.sql' }]);
  await there.drop();
});
