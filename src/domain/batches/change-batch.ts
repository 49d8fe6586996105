/** The operations on a batch as a whole. Each is one statement or one transaction, and can be repeated. */
import { Failure, notFound } from '../../core/errors.ts';
import type { EndpointId, UserId } from '../../core/ids.ts';
import { type Db, foundRow, type Pool, transaction } from '../../db/pool.ts';
import { type BatchId, type BatchSettings, type BatchStatus, MAX_ACTIVE_BATCHES, newBatchId } from './batch.ts';

export const DEFAULT_SETTINGS: BatchSettings = { name: null, webhook: null, isOrdered: true, isPaused: false };

/** Creates an empty batch. Throws `tooManyRequests` while the endpoint has too many that have not ended. */
export function createBatch(
  pool: Pool,
  { endpointId, userId }: { endpointId: EndpointId; userId: UserId },
  settings: BatchSettings,
): Promise<BatchId> {
  return transaction(pool, async (db) => {
    const endpoint = await db.query('select from endpoints where id = $1 for no key update', [endpointId]);
    if (endpoint.rowCount === 0) throw notFound('Endpoint');
    const { rows } = await db.query<{ active: number }>(
      "select count(*) as active from batches where endpoint_id = $1 and status in ('DRAFT', 'FINALIZED')",
      [endpointId],
    );
    const { active } = rows[0]!;
    if (active >= MAX_ACTIVE_BATCHES) {
      const rule = `an endpoint has at most ${MAX_ACTIVE_BATCHES} batches that have not ended; this one has ${active}`;
      throw new Failure('tooManyRequests', rule, { retryAfterSeconds: 60 });
    }
    const id = newBatchId();
    await db.query(
      `insert into batches (id, endpoint_id, user_id, name, webhook, is_ordered, is_paused)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [id, endpointId, userId, settings.name, settings.webhook, settings.isOrdered, settings.isPaused],
    );
    return id;
  });
}

/** Changes what is given. `isOrdered` is fixed once the batch is finalized: part of it may have run. */
export function updateBatch(
  pool: Pool,
  endpointId: EndpointId,
  id: BatchId,
  changes: Partial<BatchSettings>,
): Promise<void> {
  return transaction(pool, async (db) => {
    const { status, ...batch } = await lockBatch(db, endpointId, id);
    if (changes.isOrdered !== undefined && changes.isOrdered !== batch.isOrdered && status !== 'DRAFT') {
      throw new Failure('badRequest', `ordered: cannot change once the batch is ${status}`);
    }
    const { name, webhook, isOrdered, isPaused } = { ...batch, ...changes };
    await db.query('update batches set name = $2, webhook = $3, is_ordered = $4, is_paused = $5 where id = $1', [
      id,
      name,
      webhook,
      isOrdered,
      isPaused,
    ]);
  });
}

/** Locks a draft against changes and lets it run. One that runs or has COMPLETED stays as it is. */
export function finalizeBatch(pool: Pool, endpointId: EndpointId, id: BatchId): Promise<void> {
  return transaction(pool, async (db) => {
    const { status, accepted, isCancelling } = await lockBatch(db, endpointId, id);
    if (isCancelling || status === 'CANCELLED') throw new Failure('badRequest', 'the batch was cancelled');
    if (status !== 'DRAFT') return;
    if (accepted === 0) throw new Failure('badRequest', 'the batch has no requests; add some before you finalize it');
    await db.query("update batches set status = 'FINALIZED', finalized_at = now() where id = $1", [id]);
  });
}

/**
 * Cancels a batch, however large, by one row: no further request becomes a job. A draft ends at once; one that runs ends when
 * control has withdrawn its queued jobs and its running ones have ended. An ended batch stays as it is.
 */
export function cancelBatch(pool: Pool, endpointId: EndpointId, id: BatchId, retentionMs: number): Promise<void> {
  return transaction(pool, async (db) => {
    const { status } = await lockBatch(db, endpointId, id);
    if (status === 'DRAFT') await endBatch(db, id, { status: 'CANCELLED', reason: CANCELLED_BY_USER, retentionMs });
    if (status !== 'FINALIZED') return;
    await db.query('update batches set cancelled_at = coalesce(cancelled_at, now()), reason = $2 where id = $1', [
      id,
      CANCELLED_BY_USER,
    ]);
  });
}

const CANCELLED_BY_USER = 'cancelled by its user';

/**
 * Ends a batch and queues its webhook. False, and nothing happens, if it has ended, or while a job of it is queued or
 * running.
 */
export async function endBatch(
  db: Db,
  id: BatchId,
  { status, reason, retentionMs }: { status: BatchStatus; reason: string | null; retentionMs: number },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `with ended as (
       update batches set status = $2, reason = $3, ended_at = now(), cancelled_at = case when $2 = 'CANCELLED' then coalesce(cancelled_at, now()) end,
         keep_until = now() + $4 * interval '1 millisecond'
       where id = $1 and status in ('DRAFT', 'FINALIZED') and not exists (select from jobs where batch_id = $1)
       returning id, endpoint_id, webhook
     ), hooked as (
       insert into webhook_deliveries (job_id, endpoint_id, url, batch_id)
       select id, endpoint_id, webhook, id from ended where webhook is not null
     )
     select from ended`,
    [id, status, reason, retentionMs],
  );
  return rowCount === 1;
}

/**
 * Deletes the batches of an endpoint. Call it in the transaction that deletes the endpoint, before its jobs are cancelled: a
 * portion of requests that is becoming jobs at this moment is committed first.
 */
export async function deleteBatchesOfEndpoint(db: Db, endpointId: EndpointId): Promise<void> {
  await db.query(
    `with gone as (delete from batches where endpoint_id = $1 returning id)
     insert into batch_removals (batch_id) select id from gone`,
    [endpointId],
  );
}

interface LockedBatch extends BatchSettings {
  status: BatchStatus;
  accepted: number;
  isCancelling: boolean;
}

async function lockBatch(db: Db, endpointId: EndpointId, id: BatchId): Promise<LockedBatch> {
  return foundRow(
    await db.query<LockedBatch>({
      name: 'batch-lock',
      text: `select status, accepted, name, webhook, is_ordered as "isOrdered", is_paused as "isPaused",
                  cancelled_at is not null as "isCancelling"
           from batches where id = $1 and endpoint_id = $2 for update`,
      values: [id, endpointId],
    }),
    'batch',
  );
}
