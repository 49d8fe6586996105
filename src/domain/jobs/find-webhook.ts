import type { EndpointId, JobId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/**
 * `WAITING`: the job has not ended. `PENDING`: it is being delivered, or tried again. `DELIVERED` and `FAILED` are final.
 * `UNKNOWN`: it was delivered by a version that kept no account.
 */
export const WEBHOOK_STATES = ['WAITING', 'PENDING', 'DELIVERED', 'FAILED', 'UNKNOWN'] as const;

interface WebhookTry {
  /** ISO 8601. */
  at: string;
  /** The receiver's; null if it gave none. */
  status: number | null;
  /** Why it failed; null if it did not. */
  error: string | null;
}

export interface JobWebhook {
  /** Without user, query and fragment, which may hold secrets. */
  url: string;
  state: (typeof WEBHOOK_STATES)[number];
  tries: WebhookTry[];
  nextTryAt: Date | null;
}

/**
 * $1 job, $2 when it ended, as text: the delivery was created by the statement that ended the job, at the same time. Served by
 * the primary keys.
 */
const FIND = `
  select 'PENDING' as state, tries, next_at as "nextTryAt" from webhook_deliveries
  where job_id = $1 and created_at = $2::text::timestamptz and batch_id is null
  union all
  select case when is_delivered then 'DELIVERED' else 'FAILED' end, tries, null from webhook_results
  where job_id = $1 and created_at = $2::text::timestamptz`;

/** Returns how the delivery of a job's webhook goes or went. `finishedAt`: ISO 8601 with microseconds. */
export async function findWebhook(db: Db, jobId: JobId, url: string, finishedAt: string | null): Promise<JobWebhook> {
  const shown = withoutSecrets(url);
  if (finishedAt === null) return { url: shown, state: 'WAITING', tries: [], nextTryAt: null };
  const found = (await db.query<Omit<JobWebhook, 'url'>>(FIND, [jobId, finishedAt])).rows[0];
  return { url: shown, ...(found ?? { state: 'UNKNOWN', tries: [], nextTryAt: null }) };
}

function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

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
