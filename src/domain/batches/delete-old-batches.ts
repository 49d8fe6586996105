import type { Pool } from '../../db/pool.ts';

/** Rows per statement: a larger one would keep others waiting for the disk. */
const SLICE = 5_000;
/** Slices per run; the next run continues. */
const MAX_SLICES = 200;

/**
 * Deletes ended batches past their time, and drafts that nothing was added to for that long; then the rows of batches that are
 * gone, slice by slice.
 */
export async function deleteOldBatches(pool: Pool, retentionMs: number): Promise<void> {
  await pool.query(
    `with gone as (
       delete from batches where keep_until < now()
         or (status = 'DRAFT' and changed_at < now() - $1 * interval '1 millisecond')
       returning id
     )
     insert into batch_removals (batch_id) select id from gone`,
    [retentionMs],
  );
  const { rows } = await pool.query<{ id: string }>('select batch_id as id from batch_removals order by batch_id');
  let slices = 0;
  for (const { id } of rows) {
    for (const table of ['batch_requests', 'batch_results']) {
      while (await deleteSlice(pool, table, id)) if (++slices >= MAX_SLICES) return;
    }
    await pool.query('delete from batch_counters where batch_id = $1', [id]);
    await pool.query('delete from batch_removals where batch_id = $1', [id]);
  }
}

/** True if there may be more. Served by the table's key. */
async function deleteSlice(pool: Pool, table: string, id: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `delete from ${table} where batch_id = $1 and number <= (
       select max(number) from (select number from ${table} where batch_id = $1 order by number limit ${SLICE}) s)`,
    [id],
  );
  return rowCount === SLICE;
}
