import type { EndpointId } from '../../core/ids.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { CANCEL_ALL } from './job-sql.ts';

/** Results of a deleted endpoint are unreachable, but kept this long for its webhooks. */
const KEEP_MS = 300_000;

/** Cancels every queued and running job of an endpoint, inside the transaction that deletes it. */
export async function cancelJobsOfEndpoint(db: Db, endpointId: EndpointId): Promise<void> {
  await db.query(CANCEL_ALL, [KEEP_MS, KEEP_MS, laneOf(endpointId), endpointId]);
}

/**
 * Deletes the counters of deleted endpoints, and cancels the jobs that they still count: those that were being stored while
 * their endpoint was deleted, unseen by that transaction. A lock that makes one wait for the other would cost each job more.
 */
export async function cancelJobsOfGone(pool: Pool): Promise<void> {
  await transaction(pool, async (db) => {
    const { rows } = await db.query<{ id: EndpointId }>(
      `with gone as (
         delete from endpoint_counters k where not exists (select from endpoints e where e.id = k.endpoint_id) returning *)
       select endpoint_id as id from gone group by 1 having sum(queued + queued_low + in_progress) <> 0`,
    );
    for (const { id } of rows) {
      await cancelJobsOfEndpoint(db, id);
      await db.query('delete from endpoint_counters where endpoint_id = $1 and lane = $2', [id, laneOf(id)]);
    }
  });
}

/** The lane in which cancelled jobs are counted off. */
function laneOf(endpointId: EndpointId): string {
  return `delete/${endpointId}`;
}
