import { Failure } from '../../core/errors.ts';
import { Batcher } from '../../core/flow/batcher.ts';
import type { EndpointId, JobId, WorkerId } from '../../core/ids.ts';
import { bigintArray, booleanArray, sparseArray, textArray } from '../../db/arrays.ts';
import type { Db, Pool } from '../../db/pool.ts';
import type { BatchId } from '../batches/batch.ts';
import { FinishJobs } from './finish-jobs.ts';
import type { EndedJob, FinishOutcome, JobResult, JobView, NewJob, TakenJob } from './job.ts';
import {
  BATCHES,
  type BySize,
  bySize,
  COMMIT_TIMEOUT_MS,
  MAX_BATCH_BYTES,
  notCommitted,
  resultNotStored,
  sizeOf,
} from './job-batching.ts';
import type { JobChanges } from './job-body.ts';
import * as sql from './job-sql.ts';
import { inputArrays, MEASURE_INPUT, READ_RESULT, saveProgress } from './payloads.ts';
import { SUBMIT, SUBMIT_ONE } from './submit-sql.ts';

/**
 * Server settings of the queue's connections. Its statements are planned once, when the tables may be empty: no plan may
 * scan a table that holds a million jobs later.
 */
export const QUEUE_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off', // finds all matches before it returns the first, whatever the limit
  enable_hashjoin: 'off', // like a merge join, it reads one side completely
  enable_mergejoin: 'off',
  jit: 'off',
};

const PURGE_SLICE = 2000;

/**
 * The durable queue. Every method resolves after the commit. Concurrent calls share a statement and a commit
 * (core/flow/batcher.ts); the comments in job-sql.ts say what each statement guarantees.
 */
export class JobQueue {
  readonly #pool: Pool;
  readonly #processId: string;
  readonly #retention: readonly [runMs: number, syncMs: number];
  readonly #submits: BySize<Batcher<NewJob, boolean>>;
  readonly #takes: Batcher<TakeCall, TakenJob[]>;
  readonly #finishes: BySize<Batcher<JobResult, FinishOutcome>>;
  readonly #lookups: Batcher<JobId, JobView | undefined>;

  constructor(options: {
    pool: Pool;
    processId: string;
    limits: { resultRetentionMs: number; syncResultRetentionMs: number };
  }) {
    this.#pool = options.pool;
    this.#processId = options.processId;
    this.#retention = [options.limits.resultRetentionMs, options.limits.syncResultRetentionMs];
    this.#submits = bySize(
      (kind, lanes) =>
        new Batcher({
          ...{ ...BATCHES, lanes },
          bytes: { max: MAX_BATCH_BYTES, of: (job) => sizeOf(job.input) },
          timeout: { ms: COMMIT_TIMEOUT_MS, error: notCommitted },
          flush: (jobs, lane) => this.#submitBatch(jobs, this.#lane(`submit${kind}`, lane)),
        }),
    );
    this.#takes = new Batcher({ ...BATCHES, flush: (calls, lane) => this.#takeBatch(calls, this.#lane('take', lane)) });
    const lookUp = (ids: readonly JobId[]) => this.#lookUpBatch(ids);
    const finish = new FinishJobs({ pool: this.#pool, retention: this.#retention, lookUp });
    this.#finishes = bySize(
      (kind, lanes) =>
        new Batcher({
          ...{ ...BATCHES, lanes },
          bytes: { max: MAX_BATCH_BYTES, of: (result) => sizeOf(result.output) + sizeOf(result.error) },
          timeout: { ms: COMMIT_TIMEOUT_MS, error: resultNotStored },
          flush: (calls, lane) => finish.run(calls, this.#lane(`finish${kind}`, lane)),
        }),
    );
    this.#lookups = new Batcher({ ...BATCHES, flush: (ids) => this.#lookUpBatch(ids) });
  }

  /**
   * False if the endpoint was deleted. Rejects with `unavailable` after COMMIT_TIMEOUT_MS, in words that differ: a job that
   * was not sent to the database by then is never stored, and one that was may be.
   */
  submit(job: NewJob): Promise<boolean> {
    return this.#submits(job.input.length).run(job);
  }

  /** Like `submit`, in the caller's transaction. */
  async submitIn(db: Db, job: NewJob): Promise<boolean> {
    const [isInserted] = await this.#submitBatch([job], this.#lane('submit', 'alone'), db);
    return isInserted!;
  }

  /** Leases up to `slots` jobs to the worker; none if the queue is empty. */
  take(endpointId: EndpointId, workerId: WorkerId, slots: number): Promise<TakenJob[]> {
    return this.#takes.run({ endpointId, workerId, slots });
  }

  /** Rejects with `unavailable` after COMMIT_TIMEOUT_MS; the worker then repeats the result, which counts once. */
  finish(result: JobResult): Promise<FinishOutcome> {
    return this.#finishes((result.output?.length ?? 0) + (result.error?.length ?? 0)).run(result);
  }

  /** The job, without a result of more than 64 KiB: `readResult` reads that. */
  find(id: JobId): Promise<JobView | undefined> {
    return this.#lookups.run(id);
  }

  async readResult(id: JobId): Promise<Pick<JobView, 'output' | 'error'> | undefined> {
    const values = [id];
    return (await this.#pool.query<JobView>({ name: 'job-result', text: READ_RESULT, values })).rows[0];
  }

  /** True while the endpoint has this job, queued, leased or with its result kept. */
  async has(id: JobId, endpointId: EndpointId): Promise<boolean> {
    const result = await this.#pool.query<{ isThere: boolean }>({
      name: 'has-job',
      text: `select exists (select from jobs where id = $1 and endpoint_id = $2)
               or exists (select from finished_jobs where id = $1 and endpoint_id = $2) as "isThere"`,
      values: [id, endpointId],
    });
    return result.rows[0]!.isThere;
  }

  /** Cancels a queued or running job; undefined if there is none. */
  async cancel(id: JobId, endpointId: EndpointId): Promise<EndedJob | undefined> {
    const [job] = await this.#end(sql.CANCEL, 'cancel', [id, endpointId]);
    return job;
  }

  /** Ends a running job as FAILED and orders its worker to stop it; undefined if the worker does not hold it. */
  async fail(id: JobId, workerId: WorkerId, error: string): Promise<EndedJob | undefined> {
    const [job] = await this.#end(sql.FAIL_RUNNING, 'cancel', [id, workerId, error]);
    return job;
  }

  /** Cancels the jobs that are queued now; yields them slice by slice. */
  async *purge(endpointId: EndpointId): AsyncGenerator<EndedJob[]> {
    const newest = await this.#pool.query<{ at: string | null }>(sql.NEWEST_QUEUED, [endpointId]);
    for (;;) {
      const slice = await this.#end(sql.PURGE, 'cancel', [endpointId, newest.rows[0]!.at ?? '-infinity', PURGE_SLICE]);
      yield slice;
      if (slice.length < PURGE_SLICE) return;
    }
  }

  /** Cancels the queued jobs of a batch. One that is being taken at this moment is left out. */
  cancelBatch(batchId: BatchId): Promise<EndedJob[]> {
    return this.#end(sql.CANCEL_BATCH, 'cancel-batch', [batchId]);
  }

  /** Requeues a FAILED or TIMED_OUT job; false if it is neither, or its result has expired. */
  async retry(id: JobId, endpointId: EndpointId): Promise<boolean> {
    const result = await this.#pool.query({
      name: 'job-retry',
      text: sql.RETRY,
      values: [id, endpointId, this.#lane('retry', 0)],
    });
    return result.rows.length > 0;
  }

  /** The size of a job's payload in bytes; undefined if there is no such job. */
  async measure(id: JobId, endpointId: EndpointId): Promise<number | undefined> {
    const query = { name: 'job-measure', text: MEASURE_INPUT, values: [id, endpointId] };
    return (await this.#pool.query<{ bytes: number }>(query)).rows[0]?.bytes;
  }

  /** Queues a copy of a job, with changes, as `newId`; false if there is no such job. */
  async resubmit(id: JobId, endpointId: EndpointId, newId: JobId, changes: JobChanges): Promise<boolean> {
    const { input, executionTimeoutMs, ttlMs, isLowPriority, webhook } = changes;
    const result = await this.#pool.query({
      name: 'job-resubmit',
      text: sql.RESUBMIT,
      values: [
        ...[id, endpointId, this.#lane('retry', 0), newId],
        ...[input ?? null, executionTimeoutMs ?? null, ttlMs ?? null, isLowPriority ?? null],
        ...[webhook !== undefined, webhook ?? null],
      ],
    });
    return result.rows.length > 0;
  }

  /** Requeues leased jobs that never reached the worker, at their old position and not counted as a retry. */
  releaseUndelivered(workerId: WorkerId, jobIds: readonly JobId[]): Promise<EndpointId[]> {
    return this.#release([workerId], jobIds, null);
  }

  /**
   * Ends the leases of lost workers: jobs within `maxRetries` are requeued, the others FAILED. Returns the endpoints with
   * requeued jobs, and the jobs that ended.
   */
  async rescue(
    workerIds: readonly WorkerId[],
    maxRetries: number,
  ): Promise<{ requeued: EndpointId[]; ended: EndedJob[] }> {
    const ended = await this.#end(sql.FAIL_LOST, 'rescue', [workerIds, maxRetries]);
    return { requeued: await this.#release(workerIds, null, maxRetries), ended };
  }

  /**
   * Ends jobs over their execution timeout. `sinceMs`: only jobs that were leased in the last so many milliseconds, while the
   * results of earlier ones may still be on their way. `validUntilMs`: none when the statement runs after this time of the
   * database.
   */
  expireRunning(only: { sinceMs: number | null; validUntilMs: number | null } = { sinceMs: null, validUntilMs: null }) {
    return this.#end(sql.EXPIRE_RUNNING, 'expire', [only.sinceMs, only.validUntilMs]);
  }

  /** Ends queued jobs over their time to live. `validUntilMs`: as above. */
  expireQueued(atMost: number, validUntilMs: number | null = null): Promise<EndedJob[]> {
    return this.#end(sql.EXPIRE_QUEUED, 'expire', [atMost, validUntilMs]);
  }

  /** Stores the job's last progress update; false, and nothing is stored, unless the worker holds the lease. */
  async saveProgress(jobId: JobId, workerId: WorkerId, progress: string): Promise<boolean> {
    const result = await this.#pool.query({
      name: 'job-progress',
      text: `update jobs set ${saveProgress('$3')} where id = $1 and worker_id = $2 and status = 'IN_PROGRESS'`,
      values: [jobId, workerId, progress],
    });
    return result.rowCount === 1;
  }

  /**
   * Adds a process that holds a request for the job, so that it is notified of the job's end. True if the job is queued: a
   * take that ran meanwhile passed over it, because its row was locked.
   */
  async addWaiter(jobId: JobId, endpointId: EndpointId, processId: string): Promise<boolean> {
    const result = await this.#pool.query<{ status: string }>({
      name: 'job-waiter',
      text: `update jobs set waiter = concat_ws(' ', waiter, $3::text)
             where id = $1 and endpoint_id = $2 and (waiter is null or $3 <> all(string_to_array(waiter, ' ')))
             returning status`,
      values: [jobId, endpointId, processId],
    });
    return result.rows[0]?.status === 'IN_QUEUE';
  }

  #lane(kind: string, lane: number | string): string {
    return `${this.#processId}/${kind}${lane}`;
  }

  async #submitBatch(jobs: readonly NewJob[], lane: string, db: Db = this.#pool): Promise<boolean[]> {
    const statement =
      jobs.length === 1
        ? { name: 'job-submit-one', text: SUBMIT_ONE, values: [...valuesOf(jobs[0]!), lane] }
        : { name: 'job-submit', text: SUBMIT, values: [...arraysOf(jobs), lane, endpointsOf(jobs)] };
    const { rows } = await db.query<{ endpointId: EndpointId }>(statement);
    const found = new Set(rows.map((row) => row.endpointId));
    return jobs.map((job) => found.has(job.endpointId));
  }

  async #takeBatch(calls: readonly TakeCall[], lane: string): Promise<TakenJob[][]> {
    const byEndpoint = Map.groupBy(calls, (call) => call.endpointId);
    const workers: WorkerId[] = [];
    const starts: number[] = [];
    for (const group of byEndpoint.values()) {
      starts.push(workers.length);
      for (const { workerId, slots } of group) for (let i = 0; i < slots; i++) workers.push(workerId);
    }
    const result = await this.#pool.query<TakenJob & { workerId: WorkerId; n: number }>({
      name: 'job-take',
      text: sql.TAKE,
      values: [
        textArray([...byEndpoint.keys()]),
        bigintArray(starts.map((start, i) => (starts[i + 1] ?? workers.length) - start)),
        bigintArray(starts),
        textArray(workers),
        lane,
      ],
    });
    const taken = new Map<WorkerId, TakenJob[]>();
    for (const { workerId, id, input, extras } of result.rows.sort((a, b) => a.n - b.n)) {
      const job = { id, input, extras };
      const jobs = taken.get(workerId);
      if (jobs) jobs.push(job);
      else taken.set(workerId, [job]);
    }
    return calls.map((call) => taken.get(call.workerId)?.splice(0, call.slots) ?? []);
  }

  async #lookUpBatch(ids: readonly JobId[]): Promise<(JobView | undefined)[]> {
    const result = await this.#pool.query<JobView>({ name: 'job-status', text: sql.STATUS, values: [textArray(ids)] });
    const jobs = new Map(result.rows.map((job) => [job.id, job]));
    return ids.map((id) => jobs.get(id));
  }

  async #end(text: string, kind: string, values: readonly unknown[]): Promise<EndedJob[]> {
    const all = [...this.#retention, this.#lane(kind, 0), ...values];
    return (await this.#pool.query<EndedJob>(text, all)).rows;
  }

  /** `maxRetries`: null if the jobs never reached the worker, which is not a retry. */
  async #release(
    workers: readonly WorkerId[],
    jobs: readonly JobId[] | null,
    maxRetries: number | null,
  ): Promise<EndpointId[]> {
    const values = [jobs, workers, maxRetries !== null, this.#lane('release', 0), maxRetries ?? 0];
    const result = await this.#pool.query<{ endpointId: EndpointId }>(sql.RELEASE, values);
    return [...new Set(result.rows.map((row) => row.endpointId))];
  }
}

/** The parameters of SUBMIT. */
function arraysOf(jobs: readonly NewJob[]): unknown[] {
  return [
    textArray(jobs.map((job) => job.id)),
    textArray(jobs.map((job) => job.endpointId)),
    sparseArray(booleanArray, jobs, (job) => job.isLowPriority),
    sparseArray(booleanArray, jobs, (job) => job.isSync),
    ...inputArrays(jobs),
    sparseArray(textArray, jobs, (job) => job.webhook),
    sparseArray(bigintArray, jobs, (job) => job.executionTimeoutMs),
    bigintArray(jobs.map((job) => job.ttlMs)),
    sparseArray(booleanArray, jobs, (job) => job.hasOwnTtl),
    sparseArray(textArray, jobs, (job) => job.workerId),
    sparseArray(textArray, jobs, (job) => job.waiter),
  ];
}

/** Each endpoint once. */
function endpointsOf(jobs: readonly NewJob[]): Buffer {
  return textArray([...new Set(jobs.map((job) => job.endpointId))]);
}

/** The parameters of SUBMIT_ONE. */
function valuesOf(job: NewJob): unknown[] {
  return [
    ...[job.id, job.endpointId, job.isLowPriority, job.isSync, job.input, job.extras, job.webhook],
    ...[job.executionTimeoutMs, job.ttlMs, job.hasOwnTtl, job.workerId, job.waiter],
  ];
}

interface TakeCall {
  endpointId: EndpointId;
  workerId: WorkerId;
  slots: number;
}

/** The error for a job whose endpoint was deleted while it was being queued. */
export const endpointGone = () => new Failure('notFound', 'Endpoint not found');
