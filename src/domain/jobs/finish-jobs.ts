import type { JobId } from '../../core/ids.ts';
import { type Rows, rowOfValues, rowsOfArrays, sparseArray, textArray } from '../../db/arrays.ts';
import type { Pool } from '../../db/pool.ts';
import { parseRequestId } from '../batches/batch.ts';
import type { EndedJob, FinishOutcome, JobResult, JobView } from './job.ts';
import { withoutRepetitions } from './job-batching.ts';
import { endedView, endJobs } from './job-sql.ts';
import { endedWith } from './payloads.ts';

/** The columns of a job that `endJobs` and `endedView` read: the others need not be carried along. */
const CARRIED = [
  ...['id', 'endpoint_id', 'status', 'low_priority', 'is_sync', 'input', 'extras', 'webhook', 'execution_timeout_ms'],
  ...['expires_at', 'worker_id', 'attempt', 'created_at', 'started_at', 'waiter', 'batch_id', 'batch_number'],
];

/** The columns of a result, in the order of the parameters from $4 on. */
const RESULTS = { id: 'text', worker_id: 'text', status: 'text', output: 'text', error: 'text' };

const finish = (rows: Rows, condition: string, mayHaveMore = true) => `${endJobs(
  `
    delete from jobs j using ${rows(RESULTS, 4)} r
    where j.id = any(array[r.id]) and j.worker_id = r.worker_id and j.status || '' = 'IN_PROGRESS'${condition}
    returning ${CARRIED.map((column) => `j.${column}`).join(', ')},
              ${endedWith('r.status', { output: 'r.output', error: 'r.error' })}`,
  { mayHaveMore, isOneRow: rows === rowOfValues },
)}
  ${endedView('null::text')}`;

/** The results of lease holders; returns the jobs whose result counted, without the output, which the caller has. */
export const FINISH = finish(rowsOfArrays, '');

/** The same, and only jobs without a webhook that belong to no batch: it touches half as many tables. */
const PLAIN = ' and j.webhook is null and j.batch_id is null';
export const FINISH_PLAIN = finish(rowsOfArrays, PLAIN, false);

/** The same for one result, whose values are parameters. */
export const FINISH_ONE = finish(rowOfValues, '');
const FINISH_PLAIN_ONE = finish(rowOfValues, PLAIN, false);

/** A statement for many rows and for one. */
const STATEMENTS = {
  plain: [
    { name: 'job-finish-plain', text: FINISH_PLAIN },
    { name: 'job-finish-plain-one', text: FINISH_PLAIN_ONE },
  ],
  full: [
    { name: 'job-finish', text: FINISH },
    { name: 'job-finish-one', text: FINISH_ONE },
  ],
} as const;

interface Deps {
  readonly pool: Pool;
  readonly retention: readonly [runMs: number, syncMs: number];
  readonly lookUp: (ids: readonly JobId[]) => Promise<(JobView | undefined)[]>;
}

/** Stores the results of workers, those of simultaneous calls together. */
export class FinishJobs {
  readonly #deps: Deps;
  /** Most jobs that ended last had neither a webhook nor a batch: the statement for these is tried first. */
  #triesPlain = true;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Returns an outcome for each call. */
  async run(calls: readonly JobResult[], lane: string): Promise<FinishOutcome[]> {
    const ended = await this.#end(withoutRepetitions(calls), lane);
    const known = await this.#knownAmong(calls.map((call) => call.jobId).filter((id) => !ended.has(id)));
    return calls.map((call) => {
      const job = ended.get(call.jobId);
      const stale = known.get(call.jobId) ?? job;
      if (job?.workerId === call.workerId && !known.has(job.id)) {
        const whole = { ...job, output: call.output === null ? null : String(call.output) };
        known.set(job.id, whole);
        return { kind: 'ended', job: whole };
      }
      return stale ? { kind: 'stale', job: stale } : { kind: 'unknown' };
    });
  }

  async #end(results: readonly JobResult[], lane: string): Promise<Map<JobId, EndedJob>> {
    const ended = new Map<JobId, EndedJob>();
    if (this.#triesPlain) await this.#store('plain', results, lane, ended);
    const others = results.filter((result) => !ended.has(result.jobId));
    if (others.length > 0) await this.#store('full', others, lane, ended);
    let plain = 0;
    for (const job of ended.values()) if (!job.hasWebhook && parseRequestId(job.id) === undefined) plain++;
    if (ended.size > 0) this.#triesPlain = plain * 2 >= ended.size;
    return ended;
  }

  async #store(
    kind: keyof typeof STATEMENTS,
    results: readonly JobResult[],
    lane: string,
    ended: Map<JobId, EndedJob>,
  ): Promise<void> {
    const [ofMany, ofOne] = STATEMENTS[kind];
    const columns = (['jobId', 'workerId', 'status', 'output', 'error'] as const).map((name) =>
      results.length === 1 ? results[0]![name] : sparseArray(textArray, results, (result) => result[name]),
    );
    const { rows } = await this.#deps.pool.query<EndedJob>({
      ...(results.length === 1 ? ofOne : ofMany),
      values: [...this.#deps.retention, lane, ...columns],
    });
    for (const job of rows) ended.set(job.id, job);
  }

  async #knownAmong(ids: readonly JobId[]): Promise<Map<JobId, JobView>> {
    if (ids.length === 0) return new Map();
    return new Map((await this.#deps.lookUp(ids)).flatMap((job) => (job ? [[job.id, job]] : [])));
  }
}
