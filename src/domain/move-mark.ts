import type { Db } from '../db/pool.ts';

/**
 * Stands in a database (settings, `move`) that a move came from or is on its way to, so that never two servers run on the
 * same jobs. Both ends of one move have the same id. Without it the database is in use as any other.
 */
export interface MoveMark {
  id: string;
  /** `arriving`: the copy is whole, but the source may still be in use; `left`: the source of a move that is done. */
  state: 'arriving' | 'left';
  /** Where to, for people; without credentials. */
  to: string;
  at: string;
}

export async function findMoveMark(db: Db): Promise<MoveMark | undefined> {
  const result = await db.query<{ value: MoveMark }>("select value from settings where key = 'move'");
  return result.rows[0]?.value;
}

export async function saveMoveMark(db: Db, mark: MoveMark): Promise<void> {
  await db.query(
    "insert into settings (key, value) values ('move', $1) on conflict (key) do update set value = excluded.value",
    [JSON.stringify(mark)],
  );
}

export async function deleteMoveMark(db: Db): Promise<void> {
  await db.query("delete from settings where key = 'move'");
}

/** Throws a sentence with the way out when the database was moved away, or a move to it is not done. */
export async function refuseMoved(db: Db): Promise<void> {
  const mark = await findMoveMark(db);
  if (!mark) return;
  throw new Error(
    mark.state === 'left'
      ? `this database was moved to ${mark.to} at ${mark.at}: use that one, or move it back with podyard move`
      : `the move of ${mark.at} to this database was cut off: run podyard move again; until then the source is in use`,
  );
}
