import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/database.ts';
import { Failure } from '../core/errors.ts';
import { createPool, type Db, isValueFault, transaction } from './pool.ts';
import { sqlState } from './sql-state.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.pool.query('create table things (id integer primary key)');
});
afterAll(() => database.drop());

async function things(): Promise<number[]> {
  return (await database.pool.query<{ id: number }>('select id from things order by id')).rows.map((row) => row.id);
}

test('a transaction whose work returns is committed and resolves with its result', async () => {
  const answer = await transaction(database.pool, async (db) => {
    await db.query('insert into things values (1)');
    return 'done';
  });
  expect(answer).toBe('done');
  expect(await things()).toContain(1);
});

test('a transaction whose work throws is rolled back and rejects with the error', async () => {
  const cause = new Error('no');
  const work = transaction(database.pool, async (db) => {
    await db.query('insert into things values (2)');
    throw cause;
  });
  await expect(work).rejects.toBe(cause);
  expect(await things()).not.toContain(2);
});

describe('a conflict with another transaction', () => {
  beforeEach(() =>
    database.pool.query(
      `drop table if exists scores; create table scores (id integer primary key, n integer);
       insert into scores values (1, 0), (2, 0)`,
    ),
  );
  const scores = async () => (await database.pool.query('select n from scores order by id')).rows.map(({ n }) => n);
  const raise = (db: Db, id: number) => db.query('update scores set n = n + 1 where id = $1', [id]);

  test('a deadlock of two transactions: both commit, one of them at its second try', async () => {
    let tries = 0;
    const bothHaveTheirFirst = createBarrier(2);
    const run = (first: number, second: number) =>
      transaction(database.pool, async (db) => {
        tries += 1;
        await raise(db, first);
        await bothHaveTheirFirst();
        await raise(db, second);
      });
    await Promise.all([run(1, 2), run(2, 1)]);
    expect(await scores()).toEqual([2, 2]);
    expect(tries).toBe(3);
  });

  test('a deadlock of two statements outside a transaction: both succeed', async () => {
    const { pool } = database;
    await pool.query('drop sequence if exists tries; create sequence tries');
    // One message is one transaction; a sequence counts tries that are rolled back too.
    const run = (first: number, second: number) => {
      const add = (id: number) => `update scores set n = n + 1 where id = ${id}`;
      return pool.query(`select nextval('tries'); ${add(first)}; select pg_sleep(0.5); ${add(second)}`);
    };
    await Promise.all([run(1, 2), run(2, 1)]);
    expect(await scores()).toEqual([2, 2]);
    expect((await pool.query(`select nextval('tries') as n`)).rows).toEqual([{ n: 4 }]);
  });

  test('a transaction that cannot be serialized commits at its second try', async () => {
    let tries = 0;
    await transaction(database.pool, async (db) => {
      tries += 1;
      await db.query('set transaction isolation level repeatable read');
      await db.query('select from scores');
      if (tries === 1) await raise(database.pool, 1);
      await raise(db, 1);
    });
    expect(await scores()).toEqual([2, 0]);
    expect(tries).toBe(2);
  });

  test('a transaction whose commit is refused as not serializable commits at its second try', async () => {
    let tries = 0;
    const addCount = async (db: Db, id: number) => {
      await db.query('set transaction isolation level serializable');
      await db.query('insert into scores select $1, count(*) from scores', [id]); // each reads what the other writes
    };
    await transaction(database.pool, async (db) => {
      tries += 1;
      await addCount(db, 11);
      if (tries === 1) await transaction(database.pool, (other) => addCount(other, 12));
    });
    expect(await scores()).toEqual([0, 0, 3, 2]);
    expect(tries).toBe(2);
  });

  test('one that does not end is passed on after a few tries, and other errors at once', async () => {
    let tries = 0;
    const refused = transaction(database.pool, async (db) => {
      tries += 1;
      await db.query(`do $$ begin raise exception 'again' using errcode = '40001'; end $$`);
    });
    await expect(refused).rejects.toThrow('again');
    expect(tries).toBe(5);
    const faulty = transaction(database.pool, async (db) => {
      tries += 1;
      await db.query('select 1/0');
    });
    await expect(faulty).rejects.toThrow('division by zero');
    expect(tries).toBe(6);
  });

  test('a lost connection is not retried: neither in the work nor during the commit, whose outcome is unknown', async () => {
    let tries = 0;
    const endSelf = 'select pg_terminate_backend(pg_backend_pid())';
    const lost = transaction(database.pool, async (db) => {
      tries += 1;
      await db.query(endSelf);
    });
    await expect(lost).rejects.toThrow();
    expect(tries).toBe(1);
    await database.pool.query(
      `create or replace function end_self() returns trigger language plpgsql as
         $$ begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
       create constraint trigger end_at_commit after update on scores deferrable initially deferred
         for each row execute function end_self()`,
    );
    const unknown = transaction(database.pool, async (db) => {
      tries += 1;
      await raise(db, 1);
    });
    await expect(unknown).rejects.toThrow();
    expect(tries).toBe(2);
  });
});

/** Returns a function that resolves once it was called `count` times; later calls resolve at once. */
function createBarrier(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let arrived = 0;
  return () => {
    arrived += 1;
    if (arrived >= count) resolve();
    return promise;
  };
}

test('a failed statement rolls back the ones before it, and the connection stays usable', async () => {
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

test('a connection that dies in a transaction is not reused', async () => {
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

test('an unreachable database is a failure of kind unavailable, without its address in the public text', async () => {
  const lost = createPool({ databaseUrl: 'postgresql://x@127.0.0.1:1/x', applicationName: 'test', maxConnections: 1 });
  const error = await transaction(lost, async () => {}).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Failure);
  expect(error).toMatchObject({ kind: 'unavailable' });
  expect((error as Failure).message).not.toContain('127.0.0.1');
  await lost.end();
});

test('only wrong values are a value fault: not a lost connection, a missing table or our own errors', async () => {
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
