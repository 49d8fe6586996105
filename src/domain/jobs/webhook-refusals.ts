import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/** How long an endpoint shows that a webhook was refused. */
const SHOWN = "interval '1 hour'";

/** The refusal that endpoint `e` shows; null if there is none. */
export const REFUSAL_OF_ENDPOINT = `
  (select reason from webhook_refusals f where f.endpoint_id = e.id and f.refused_at > now() - ${SHOWN})`;

/** Records that a webhook of the endpoint was refused, the same one at most once a minute. */
export async function recordWebhookRefusal(db: Db, endpointId: EndpointId, reason: string): Promise<void> {
  await db.query(
    `insert into webhook_refusals as f (endpoint_id, reason) select id, $2 from endpoints where id = $1 for key share
     on conflict (endpoint_id) do update set reason = excluded.reason, refused_at = now()
       where f.refused_at < now() - interval '1 minute' or f.reason <> excluded.reason`,
    [endpointId, reason],
  );
}

export async function deleteOldWebhookRefusals(db: Db): Promise<void> {
  await db.query(`delete from webhook_refusals where refused_at < now() - ${SHOWN}`);
}
