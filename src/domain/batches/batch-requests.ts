import { notFound } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { inputBytes } from '../jobs/payloads.ts';
import { notDraft } from './append-requests.ts';
import type { BatchId, BatchStatus } from './batch.ts';

/** Deletes a request of a DRAFT. The numbers of the others stay. Throws `notFound`. */
export function deleteRequest(pool: Pool, endpointId: EndpointId, id: BatchId, number: number): Promise<void> {
  return transaction(pool, async (db) => {
    const { rows } = await db.query<{ status: BatchStatus }>(
      'select status from batches where id = $1 and endpoint_id = $2 for update',
      [id, endpointId],
    );
    if (!rows[0]) throw notFound('batch');
    if (rows[0].status !== 'DRAFT') throw notDraft(rows[0].status);
    const { rowCount } = await db.query(
      `with gone as (
         delete from batch_requests where batch_id = $1 and number = $2
         returning ${inputBytes()} as bytes
       )
       update batches b set accepted = accepted - 1, bytes = b.bytes - gone.bytes, changed_at = now() from gone where b.id = $1`,
      [id, number],
    );
    if (rowCount === 0) throw notFound('request');
  });
}

/**
 * Returns the number after which the page that starts at `offset` begins. Without gaps (rejected lines, deleted requests) it
 * is the offset itself; else the index is walked.
 */
export async function numberAt(
  pool: Pool,
  batch: { id: BatchId; received: number; accepted: number },
  offset: number,
): Promise<number> {
  if (offset === 0 || batch.received === batch.accepted) return offset;
  const { rows } = await pool.query<{ number: number }>({
    name: 'batch-number-at',
    text: 'select number from batch_requests where batch_id = $1 order by number offset $2 limit 1',
    values: [batch.id, offset - 1],
  });
  return rows[0]?.number ?? batch.received;
}
