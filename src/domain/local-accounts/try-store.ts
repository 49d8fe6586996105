import type { Db } from '../../db/pool.ts';

/** For how long tries are counted from the first. */
const WINDOW = `interval '15 minutes'`;
const MOST = 1_000_000;

/** The number of tries, including this one, and the seconds until the count is reset. */
export interface Tries {
  tries: number;
  restartsInSeconds: number;
}

/** Counts a try, before it is known how it ends: many at the same moment are counted one after the other. Forgets what is old. */
export async function countTry(db: Db, key: Buffer): Promise<Tries> {
  await db.query(
    `delete from sign_in_tries where key in (
       select key from sign_in_tries where since < now() - ${WINDOW} limit 100 for update skip locked)`,
  );
  const result = await db.query<Tries>(
    `insert into sign_in_tries as t (key, tries, since) values ($1, 1, now())
     on conflict (key) do update set
       tries = case when t.since < now() - ${WINDOW} then 1 else least(t.tries + 1, ${MOST}) end,
       since = case when t.since < now() - ${WINDOW} then now() else t.since end
     returning tries, greatest(1, ceil(extract(epoch from since + ${WINDOW} - now())))::int as "restartsInSeconds"`,
    [key],
  );
  return result.rows[0]!;
}

/** A try that ended well does not count. */
export async function uncountTry(db: Db, key: Buffer): Promise<void> {
  await db.query('update sign_in_tries set tries = greatest(0, tries - 1) where key = $1', [key]);
}

/** Forgets the tries of what has been proven. */
export async function forgetTries(db: Db, key: Buffer): Promise<void> {
  await db.query('delete from sign_in_tries where key = $1', [key]);
}
