import { Failure } from '../../core/errors.ts';
import type { EndpointId, JobId, WorkerId } from '../../core/ids.ts';
import { FAILED_ENDS, hasFailed, JOB_STATUSES, type JobStatus } from '../../core/job-states.ts';
import { type Pool, transaction } from '../../db/pool.ts';

/** A job in a list, without its payloads, with the names of docs/interface/queue.md. */
export interface ListedJob {
  id: JobId;
  status: JobStatus;
  lowPriority: boolean;
  workerId: WorkerId | null;
  /** Times are ISO 8601 with microseconds. */
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  /** Until it was taken, or until now or its end if it never was; ms. */
  delayTime: number;
  executionTime: number | null;
  retries: number;
  /** At most MAX_ERROR_LENGTH characters. */
  error: string | null;
  /** When the job and its result are deleted; null of a job that has not ended. */
  keptUntil: string | null;
}

export interface JobFilter {
  /** All of them by default. */
  statuses?: readonly JobStatus[] | undefined;
  /** Created at or after this time. */
  since?: Date | undefined;
  /** Created before this time. */
  until?: Date | undefined;
  workerId?: string | undefined;
  /** A part of the error's first ERROR_SEARCHED characters; A to Z in any case. */
  error?: string | undefined;
  limit: number;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

export interface JobPage {
  jobs: ListedJob[];
  /** Null at the end. */
  nextCursor: string | null;
}

/** Jobs per page. */
export const DEFAULT_PAGE = 50;
export const MAX_PAGE = 100;
const MAX_ERROR_LENGTH = 500;
/** Errors are rarely longer, and those that are need not be read whole. */
const ERROR_SEARCHED = 10_000;
/** Jobs that one page looks at in search of an error: without a limit, a word that is nowhere would read a million of them. */
export const MAX_SEARCHED = 2_000;
const UNTIL_EVER = 'infinity';
const SINCE_EVER = '-infinity';
/** No job is older. PostgreSQL knows no year 0, which RFC 3339 allows. */
const FIRST_TIME = new Date(0);
/** Sorts after every id. */
const AFTER_ALL_IDS = '~';

const ISO = (time: string) => `to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
/** Never negative, whatever the database's clock does; null if `from` is. */
const MS = (from: string, to: string) =>
  `case when ${from} is not null then greatest(round(extract(epoch from ${to} - ${from}) * 1000), 0)::int8 end`;

/** $2 and $3: times of creation; $4 and $5: the last job of the page before. */
const IN_RANGE = `created_at >= $2 and created_at < $3 and created_at <= $4 and (created_at < $4 or id < $5)`;
/** $6: jobs to read. A page ends between jobs of the same moment only after they were sorted by id. */
const NEWEST = 'order by created_at desc fetch first $6 rows with ties';

/** `finishedAt`: SQL for the time, or null of a job that has not ended. */
const listedColumns = (finishedAt: string, error: string, keptUntil: string) => `
  id, status, low_priority as "lowPriority", worker_id as "workerId", created_at as at, ${ISO('created_at')} as "createdAt",
  ${ISO('started_at')} as "startedAt", ${ISO(finishedAt)} as "finishedAt",
  ${MS('created_at', `coalesce(started_at, ${finishedAt}, now())`)} as "delayTime",
  ${MS('started_at', `coalesce(${finishedAt}, now())`)} as "executionTime",
  greatest(attempt - 1, 0) as retries, left(${error}, ${MAX_ERROR_LENGTH}) as error,
  ${ISO(keptUntil)} as "keptUntil"`;
export const LIVE_COLUMNS = listedColumns('null::timestamptz', 'null::text', 'null::timestamptz');
export const ENDED_COLUMNS = listedColumns('finished_at', 'error', 'keep_until');

/**
 * Each part walks one index from its newest job and ends with the page: jobs_queue for each priority, jobs_leased for the few
 * leases, and for each final state finished_jobs_by_endpoint or finished_jobs_by_worker. $1: endpoint, $7: statuses, $8: worker.
 */
const LEASED = `
  (select ${LIVE_COLUMNS} from jobs
   where status = 'IN_PROGRESS' and 'IN_PROGRESS' = any($7) and endpoint_id = $1 and worker_id = any(array(
           select id from workers where endpoint_id = $1 and phase <> 'EXITED'
           union all select id from workers where endpoint_id = $1 and phase = 'EXITED' and exited_at > now() - interval '1 hour'))
     and ($8::text is null or worker_id = $8) and ${IN_RANGE} ${NEWEST})`;
const queued = (isLow: boolean) => `
  (select ${LIVE_COLUMNS} from jobs
   where endpoint_id = $1 and status = 'IN_QUEUE' and low_priority = ${isLow} and 'IN_QUEUE' = any($7) and $8::text is null
     and ${IN_RANGE} ${NEWEST})`;
const ended = (isWorkers: boolean) => `
  (select e.* from unnest($7::text[]) as wanted(state) cross join lateral (
     select ${ENDED_COLUMNS} from finished_jobs
     where status = wanted.state and keep_until > now() and ${isWorkers ? 'worker_id = $8 and' : '$8::text is null and'}
       endpoint_id = $1 and ${IN_RANGE} ${NEWEST}) e)`;
const list = (isWorkers: boolean) => `
  select id, status, "lowPriority", "workerId", "createdAt", "startedAt", "finishedAt", "delayTime", "executionTime",
         retries, error, "keptUntil"
  from (${[LEASED, queued(false), queued(true), ended(isWorkers)].join(' union all ')}) found
  order by at desc, id desc limit $6`;
/** For tests of their plans. */
export const LIST_JOBS = list(false);
export const LIST_JOBS_OF_WORKER = list(true);

/**
 * As above, of jobs that may have an error: those whose error contains $9, and the last two that were looked at. `n` counts the
 * jobs that were. In the collation "C", `lower` knows A to Z alone, and no tables of a locale are read.
 */
const search = (isWorkers: boolean) => `
  select ${ENDED_COLUMNS}, "isMatch", n::int
  from (
    select e.*, row_number() over (order by created_at desc, id desc) as n
    from unnest($7::text[]) as wanted(state) cross join lateral (
      select id, status, low_priority, worker_id, created_at, started_at, finished_at, attempt, keep_until,
             left(error, ${MAX_ERROR_LENGTH}) as error,
             strpos(lower(left(error, ${ERROR_SEARCHED}) collate "C"), lower($9::text collate "C")) > 0 as "isMatch"
      from finished_jobs
      where status = wanted.state and keep_until > now() and ${isWorkers ? 'worker_id = $8 and' : '$8::text is null and'}
        endpoint_id = $1 and ${IN_RANGE} ${NEWEST}) e
  ) looked
  where n <= $6 and ("isMatch" or n >= $6 - 1) order by n`;
export const SEARCH_JOBS = search(false);
const SEARCH_JOBS_OF_WORKER = search(true);

/** Whatever the statistics say, only a walk along an index ends with the page. */
export const PLAN_BY_INDEX = `
  select set_config(name, 'off', true)
  from unnest(array['enable_seqscan', 'enable_bitmapscan', 'enable_sort', 'enable_hashjoin', 'enable_mergejoin']) as name`;

/**
 * Returns a page of an endpoint's jobs of every state, newest first, from the live ones and those whose result is kept. The
 * caller checks ownership. A job that exists throughout is on exactly one page, whatever it does meanwhile; a retried one
 * counts as new. Throws `badRequest` for a cursor that is none.
 */
export async function listJobs(pool: Pool, endpointId: EndpointId, filter: JobFilter): Promise<JobPage> {
  if (filter.error !== undefined) return searchJobs(pool, endpointId, filter, filter.error);
  const { statuses = JOB_STATUSES, workerId, limit } = filter;
  const values = valuesOf(endpointId, { ...filter, statuses, limit });
  const jobs = await read<ListedJob>(pool, workerId === undefined ? LIST_JOBS : LIST_JOBS_OF_WORKER, values);
  const page = jobs.slice(0, limit);
  return { jobs: page, nextCursor: jobs.length > limit ? writeCursor(page.at(-1)!) : null };
}

/**
 * Looks at the next MAX_SEARCHED jobs that may have an error. So a page may have fewer jobs than the limit, even none, and
 * still a next one.
 */
async function searchJobs(pool: Pool, endpointId: EndpointId, filter: JobFilter, error: string): Promise<JobPage> {
  const { statuses = FAILED_ENDS, workerId, limit } = filter;
  const searched = { ...filter, statuses: statuses.filter(hasFailed), limit: MAX_SEARCHED };
  const text = workerId === undefined ? SEARCH_JOBS : SEARCH_JOBS_OF_WORKER;
  const values = [...valuesOf(endpointId, searched), error];
  const rows = await read<ListedJob & { isMatch: boolean; at: Date; n: number }>(pool, text, values);
  const looked = rows.filter(({ n }) => n <= MAX_SEARCHED);
  const found = looked.filter(({ isMatch }) => isMatch).map(({ isMatch: _, at: __, n: ___, ...job }) => job);
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : rows.length > looked.length ? looked.at(-1) : undefined;
  return { jobs: page, nextCursor: last ? writeCursor(last) : null };
}

/** The values of every list; it reads one job more than the limit. */
function valuesOf(endpointId: EndpointId, filter: JobFilter & { statuses: readonly JobStatus[] }): unknown[] {
  const { since, until, cursor, statuses, workerId, limit } = filter;
  const after = cursor === undefined ? { at: UNTIL_EVER, id: AFTER_ALL_IDS } : readCursor(cursor);
  return [
    endpointId,
    since === undefined || since < FIRST_TIME ? SINCE_EVER : since,
    until === undefined ? UNTIL_EVER : until < FIRST_TIME ? FIRST_TIME : until,
    after.at,
    after.id,
    limit + 1,
    [...new Set(statuses)],
    workerId ?? null,
  ];
}

function read<Row extends object>(pool: Pool, text: string, values: unknown[]): Promise<Row[]> {
  return transaction(pool, async (db) => {
    await db.query(PLAN_BY_INDEX);
    return (await db.query<Row>(text, values)).rows;
  });
}

function writeCursor({ createdAt, id }: Pick<ListedJob, 'createdAt' | 'id'>): string {
  return Buffer.from(`${createdAt} ${id}`).toString('base64url');
}

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([A-Za-z0-9_-]{1,100})$/;

function readCursor(cursor: string): { at: string; id: string } {
  const [, at, id] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (at === undefined || id === undefined || !(Date.parse(at) >= FIRST_TIME.getTime())) {
    throw new Failure('badRequest', "cursor is not the 'nextCursor' of a page");
  }
  return { at, id };
}
