import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { Failure } from '../core/errors.ts';
import { createPool, despiteDeadlocks, isValueFault, sqlState, transaction } from './pool.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query('create table things (id integer primary key)');
});
afterAll(() => database.drop());

async function things(): Promise<number[]> {
  return (await database.pool.query<{ id: number }>('select id from things order by id')).rows.map((row) => row.id);
}

test('a transaction whose work returns is committed and answers what the work answered', async () => {
  const answer = await transaction(database.pool, async (db) => {
    await db.query('insert into things values (1)');
    return 'done';
  });
  expect(answer).toBe('done');
  expect(await things()).toContain(1);
});

test('a transaction whose work throws leaves nothing behind and passes the error on', async () => {
  const cause = new Error('no');
  const work = transaction(database.pool, async (db) => {
    await db.query('insert into things values (2)');
    throw cause;
  });
  await expect(work).rejects.toBe(cause);
  expect(await things()).not.toContain(2);
});

test('two that wait for one another both come to their end', async () => {
  const { pool } = database;
  await pool.query('create table scores (id integer primary key, n integer); insert into scores values (1, 0), (2, 0)');
  let tries = 0;
  // One message is one transaction. Each locks its first row before it asks for the other's.
  const raise = (first: number, second: number) => () => {
    tries += 1;
    const add = (id: number) => `update scores set n = n + 1 where id = ${id}`;
    return pool.query(`${add(first)}; select pg_sleep(0.5); ${add(second)}`);
  };
  await Promise.all([despiteDeadlocks(raise(1, 2)), despiteDeadlocks(raise(2, 1))]);
  expect((await pool.query('select n from scores')).rows).toEqual([{ n: 2 }, { n: 2 }]);
  expect(tries).toBe(3);
  await expect(despiteDeadlocks(() => pool.query('select 1/0'))).rejects.toThrow('division by zero');
});

test('a failed statement rolls back what came before it, and the connection can be used again', async () => {
  const single = createPool({ databaseUrl: database.url, applicationName: 'podyard test', maxConnections: 1 });
  const work = transaction(single, async (db) => {
    await db.query('insert into things values (3)');
    await db.query('insert into things values (3)');
  });
  await expect(work).rejects.toSatisfy(isValueFault);
  expect((await single.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  expect(await things()).not.toContain(3);
  await single.end();
});

test('a connection that dies within a transaction is not given out again', async () => {
  const single = createPool({ databaseUrl: database.url, applicationName: 'podyard test', maxConnections: 1 });
  const work = transaction(single, async (db) => {
    const { pid } = (await db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!;
    await database.pool.query('select pg_terminate_backend($1)', [pid]);
    await db.query('select 1');
  });
  await expect(work).rejects.toThrow();
  expect((await single.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  await single.end();
});

test('a database that cannot be reached is a failure of kind unavailable, without its address in the public text', async () => {
  const lost = createPool({ databaseUrl: 'postgresql://x@127.0.0.1:1/x', applicationName: 'test', maxConnections: 1 });
  const error = await transaction(lost, async () => {}).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Failure);
  expect(error).toMatchObject({ kind: 'unavailable' });
  expect((error as Failure).message).not.toContain('127.0.0.1');
  await lost.end();
});

test('only wrong values are a value fault: not a lost connection, not a missing table, not our own errors', async () => {
  const fails = (sql: string) => database.pool.query(sql).catch((error: unknown) => error);
  expect(isValueFault(await fails(`select 'x'::integer`))).toBe(true);
  expect(isValueFault(await fails('insert into things values (null)'))).toBe(true);
  expect(isValueFault(await fails('select * from missing'))).toBe(false);
  expect(isValueFault(Object.assign(new Error('gone'), { code: 'ECONNRESET' }))).toBe(false);
  expect(isValueFault(new Error('gone'))).toBe(false);
  expect(sqlState(await fails('select * from missing'))).toBe('42P01');
});

test('bigint columns arrive as numbers', async () => {
  expect((await database.pool.query('select 9007199254740991::bigint as n')).rows).toEqual([{ n: 2 ** 53 - 1 }]);
});
