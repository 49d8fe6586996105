import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { CANCEL_ALL } from './job-sql.ts';

/** Nobody can ask for the results of a deleted endpoint, but its webhooks are still sent: a short while is enough. */
const KEEP_MS = 300_000;

/** Cancels every queued and running job of an endpoint, inside the transaction that deletes it. */
export async function cancelJobsOfEndpoint(db: Db, endpointId: EndpointId): Promise<void> {
  await db.query(CANCEL_ALL, [KEEP_MS, KEEP_MS, `delete/${endpointId}`, endpointId]);
}
