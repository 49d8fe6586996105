import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { CANCEL_ALL } from './job-sql.ts';

/** Results of a deleted endpoint are unreachable, but kept this long for its webhooks. */
const KEEP_MS = 300_000;

/** Cancels every queued and running job of an endpoint, inside the transaction that deletes it. */
export async function cancelJobsOfEndpoint(db: Db, endpointId: EndpointId): Promise<void> {
  await db.query(CANCEL_ALL, [KEEP_MS, KEEP_MS, `delete/${endpointId}`, endpointId]);
}
