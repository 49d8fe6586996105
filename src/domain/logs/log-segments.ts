import { type Db, type Pool, transaction } from '../../db/pool.ts';

/** A range of sequence numbers, `firstSeq <= seq < endSeq`, whose lines are in a partition of their own. */
export interface LogSegment {
  firstSeq: number;
  endSeq: number;
  /** Its lines were stored since then, and before the next segment began. */
  begunAt: Date;
  /** How long after they were written its lines were stored, at most. */
  lateMs: number;
}

/** Numbers of a segment. One that is full of short lines takes about 2 GiB; most end sooner, by size or age. */
export const SEGMENT_NUMBERS = 2 ** 24;
const LOCK_TIMEOUT_MS = 1_000;
/** Lines are never changed, and go with their whole segment: a vacuum for inserted rows would only cost. */
const STORAGE = 'autovacuum_vacuum_insert_threshold = -1';

/** Returns all segments, the oldest first. There is always one. */
export async function listLogSegments(db: Db): Promise<LogSegment[]> {
  const { rows } = await db.query<LogSegment>({
    name: 'log-segments',
    text: `select first_seq as "firstSeq", end_seq as "endSeq", begun_at as "begunAt", late_ms as "lateMs"
           from log_segments order by first_seq`,
  });
  return rows;
}

/** Returns the time since which lines are kept: those stored earlier have been removed. Null: none have been. */
export async function findKeptSince(db: Db): Promise<Date | null> {
  const { rows } = await db.query<{ keptSince: Date | null }>({
    name: 'log-kept-since',
    text: `select case when first_seq > 0 then begun_at end as "keptSince" from log_segments order by first_seq limit 1`,
  });
  return rows[0]!.keptSince;
}

/** Returns the size of each segment on disk, with its indexes, the oldest first. Reads sizes of files, no lines. */
export async function readSegmentBytes(db: Db): Promise<number[]> {
  const { rows } = await db.query<{ bytes: number }>(
    `select coalesce(pg_total_relation_size(to_regclass('log_lines_' || first_seq)), 0)::int8 as bytes
     from log_segments order by first_seq`,
  );
  return rows.map(({ bytes }) => bytes);
}

/** Returns the number of the last line that was stored. */
export async function readLastLogSeq(db: Db): Promise<number> {
  const { rows } = await db.query<{ seq: number | null }>(
    "select pg_sequence_last_value(pg_get_serial_sequence('log_lines', 'seq')::regclass) as seq",
  );
  return rows[0]!.seq ?? 0;
}

/**
 * Begins a segment: lines that are stored from now on are in it. Waits for lines that are being stored, and no others are
 * stored meanwhile, so each finds its segment; readers go on. The sequence stays where it is after a rollback: the next
 * segment begins at the same number.
 */
export function beginLogSegment(pool: Pool): Promise<void> {
  return transaction(pool, async (db) => {
    await db.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await db.query('lock table log_lines in share row exclusive mode');
    const { rows } = await db.query<{ first: number }>('select max(end_seq) as first from log_segments');
    const { first } = rows[0]!;
    const end = first + SEGMENT_NUMBERS;
    await db.query(
      `create table log_lines_${first} (like log_lines including all excluding identity) with (${STORAGE})`,
    );
    await db.query(`alter table log_lines attach partition log_lines_${first} for values from (${first}) to (${end})`);
    await db.query('insert into log_segments (first_seq, end_seq, begun_at) values ($1, $2, clock_timestamp())', [
      first,
      end,
    ]);
    await db.query("select setval(pg_get_serial_sequence('log_lines', 'seq'), $1, false)", [first]);
  });
}

/** Removes a segment with its lines; their space is free at once. Waits for readers of the log. */
export function dropLogSegment(pool: Pool, { firstSeq }: Pick<LogSegment, 'firstSeq'>): Promise<void> {
  return transaction(pool, async (db) => {
    await db.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await db.query(`drop table if exists log_lines_${firstSeq}`);
    await db.query('delete from log_segments where first_seq = $1', [firstSeq]);
  });
}
