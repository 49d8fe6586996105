import { Batcher } from '../../core/batcher.ts';
import type { JobId, WorkerId } from '../../core/ids.ts';
import { textArray } from '../../db/arrays.ts';
import { isValueFault, type Pool } from '../../db/pool.ts';
import type { JobView } from './job.ts';
import { COMMIT_TIMEOUT_MS, MAX_BATCH_BYTES, resultNotStored } from './job-queue.ts';

export interface JobChunk {
  seq: number;
  /** JSON text. */
  chunk: string;
}

interface ChunkCall {
  jobId: JobId;
  workerId: WorkerId;
  chunk: string | Buffer;
}

/** The attempt whose chunks are read. */
type Attempt = Pick<JobView, 'id' | 'workerId' | 'retries'>;

/** Requeueing a job deletes its chunks, except those that a statement adds meanwhile: these belong to another attempt. */
const OF_ATTEMPT = '(attempt is null or (worker_id = $2 and attempt = $3))';

/** A job's chunks, stored in order until /stream fetches them, at most as long as results. */
export class JobStream {
  readonly #pool: Pool;
  readonly #appends: Batcher<ChunkCall, string | null | undefined>;

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#appends = new Batcher({
      lanes: 2,
      maxSize: 256,
      bytes: { max: MAX_BATCH_BYTES, of: (call) => call.chunk.length },
      timeout: { ms: COMMIT_TIMEOUT_MS, error: resultNotStored },
      isCallFault: isValueFault,
      flush: (calls) => this.#append(calls),
    });
  }

  /**
   * Appends a chunk of the lease's holder. Returns the processes that wait for the job (null: none), or undefined if the
   * worker does not hold the lease and the chunk was dropped.
   */
  append(jobId: JobId, workerId: WorkerId, chunk: string | Buffer): Promise<string | null | undefined> {
    return this.#appends.run({ jobId, workerId, chunk });
  }

  /** Removes and returns the oldest chunks of the job's attempt. */
  async drain(job: Attempt, atMost: number): Promise<JobChunk[]> {
    const result = await this.#pool.query<JobChunk>({
      name: 'chunks-drain',
      text: `with gone as (
               delete from job_chunks where job_id = $1
                 and seq in (select seq from job_chunks where job_id = $1 and ${OF_ATTEMPT} order by seq limit $4)
               returning seq, chunk)
             select seq, chunk from gone order by seq`,
      values: [job.id, job.workerId, job.retries + 1, atMost],
    });
    return result.rows;
  }

  /** Returns the chunks of the job's attempt after `afterSeq` without removing them. */
  async list(job: Attempt, afterSeq: number, atMost: number): Promise<JobChunk[]> {
    const result = await this.#pool.query<JobChunk>({
      name: 'chunks-list',
      text: `select seq, chunk from job_chunks where job_id = $1 and ${OF_ATTEMPT} and seq > $4 order by seq limit $5`,
      values: [job.id, job.workerId, job.retries + 1, afterSeq, atMost],
    });
    return result.rows;
  }

  async #append(calls: readonly ChunkCall[]): Promise<(string | null | undefined)[]> {
    const result = await this.#pool.query<{ n: number; waiter: string | null }>({
      name: 'chunks-append',
      text: `with held as (
               select c.n, c.job_id, c.chunk, j.worker_id, j.attempt, j.waiter
               from unnest($1::text[], $2::text[], $3::text[]) with ordinality as c(job_id, worker_id, chunk, n)
               join jobs j on j.id = c.job_id and j.worker_id is not distinct from c.worker_id and j.status = 'IN_PROGRESS'
             ), added as (
               insert into job_chunks (job_id, chunk, worker_id, attempt)
               select job_id, chunk, worker_id, attempt from held order by n
             )
             select n, waiter from held`,
      values: [
        textArray(calls.map((call) => call.jobId)),
        textArray(calls.map((call) => call.workerId)),
        textArray(calls.map((call) => call.chunk)),
      ],
    });
    const waiters = new Map(result.rows.map((row) => [row.n, row.waiter]));
    return calls.map((_, i) => waiters.get(i + 1));
  }
}
