import type { Db } from '../db/pool.ts';

/**
 * Marks a database (settings, `move`) as the source of a finished move or the target of an unfinished one, so that two
 * servers never run the same jobs. Both ends of a move have the same id. A database without a mark is in normal use.
 */
export interface MoveMark {
  id: string;
  /** `arriving`: the copy is complete, but the source may still be in use; `left`: the source of a finished move. */
  state: 'arriving' | 'left';
  /** The target, for people; without credentials. */
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

/** Throws an error with advice if the database was moved away, or a move to it is unfinished. */
export async function refuseMoved(db: Db): Promise<void> {
  const mark = await findMoveMark(db);
  if (!mark) return;
  throw new Error(
    mark.state === 'left'
      ? `this database was moved to ${mark.to} at ${mark.at}: use that one, or move it back with podyard move`
      : `the move of ${mark.at} to this database was interrupted: run podyard move again; until then use the source`,
  );
}
