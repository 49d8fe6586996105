import type { EndpointId } from '../../core/ids.ts';
import { type Db, foundRow } from '../../db/pool.ts';
import type { Batch, BatchId } from './batch.ts';

/**
 * The columns of a Batch; `b`: its row. The counters are a row for each lane that ended one of its jobs, and jobs_of_batch holds
 * only what is queued or running. Requests of a cancelled batch that never became jobs are cancelled without a row of their own.
 */
const COLUMNS = `
  b.id, b.endpoint_id as "endpointId", b.user_id as "userId", b.name, b.webhook, b.status, b.is_ordered as "isOrdered",
  b.is_paused as "isPaused", b.received, b.accepted, b.rejected, b.rejections, b.bytes,
  k.completed, k.failed, k.timed_out as "timedOut",
  case when b.status = 'CANCELLED' then b.accepted - k.completed - k.failed - k.timed_out else k.cancelled end as cancelled,
  (select count(*) from jobs j where j.batch_id = b.id and j.status = 'IN_PROGRESS') as "inProgress",
  b.reason, b.estimate as measured, b.created_at as "createdAt", b.finalized_at as "finalizedAt",
  b.cancelled_at as "cancelledAt", b.ended_at as "endedAt", b.keep_until as "keepUntil"`;

const COUNTS = `
  cross join lateral (
    select coalesce(sum(completed), 0)::int8 as completed, coalesce(sum(failed), 0)::int8 as failed,
           coalesce(sum(cancelled), 0)::int8 as cancelled, coalesce(sum(timed_out), 0)::int8 as timed_out
    from batch_counters c where c.batch_id = b.id) k`;

/** Throws `notFound` if the endpoint has no such batch. */
export async function getBatch(db: Db, endpointId: EndpointId, id: BatchId): Promise<Batch> {
  return foundRow(
    await db.query<Batch>({
      name: 'batch-get',
      text: `select ${COLUMNS} from batches b ${COUNTS} where b.id = $1 and b.endpoint_id = $2`,
      values: [id, endpointId],
    }),
    'batch',
  );
}

/** Finds a batch by its id alone; the caller knows whose it is. */
export async function findBatch(db: Db, id: BatchId): Promise<Batch | undefined> {
  const { rows } = await db.query<Batch>({
    name: 'batch-find',
    text: `select ${COLUMNS} from batches b ${COUNTS} where b.id = $1`,
    values: [id],
  });
  return rows[0];
}

/** A page of an endpoint's batches, newest first, and how many there are. Served by batches_by_endpoint. */
export async function listBatches(
  db: Db,
  endpointId: EndpointId,
  page: { offset: number; limit: number },
): Promise<{ batches: Batch[]; total: number }> {
  const [found, counted] = await Promise.all([
    db.query<Batch>({
      name: 'batch-list',
      text: `select ${COLUMNS}
             from (select * from batches where endpoint_id = $1 order by created_at desc, id desc offset $2 limit $3) b ${COUNTS}
             order by b.created_at desc, b.id desc`,
      values: [endpointId, page.offset, page.limit],
    }),
    db.query<{ total: number }>({
      name: 'batch-count',
      text: 'select count(*) as total from batches where endpoint_id = $1',
      values: [endpointId],
    }),
  ]);
  return { batches: found.rows, total: counted.rows[0]!.total };
}
