import type { JobId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';

/**
 * `WAITING`: the job has not ended. `PENDING`: it is being delivered, or tried again. `DELIVERED` and `FAILED` are final.
 * `UNKNOWN`: it was delivered by a version that kept no account.
 */
export const WEBHOOK_STATES = ['WAITING', 'PENDING', 'DELIVERED', 'FAILED', 'UNKNOWN'] as const;

export interface WebhookTry {
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
