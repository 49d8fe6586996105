import { Batcher } from '../../core/batcher.ts';
import type { JobId, WorkerId } from '../../core/ids.ts';
import { textArray } from '../../db/arrays.ts';
import { isValueFault, type Pool } from '../../db/pool.ts';

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

/** A job's chunks, stored in order until /stream fetches them, at most as long as results. */
export class JobStream {
  readonly #pool: Pool;
  readonly #appends: Batcher<ChunkCall, string | null | undefined>;

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#appends = new Batcher({
      lanes: 2,
      maxSize: 256,
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

  /** Removes and returns the oldest chunks. */
  async drain(jobId: JobId, atMost: number): Promise<JobChunk[]> {
    const result = await this.#pool.query<JobChunk>({
      name: 'chunks-drain',
      text: `with gone as (
               delete from job_chunks where job_id = $1
                 and seq in (select seq from job_chunks where job_id = $1 order by seq limit $2)
               returning seq, chunk)
             select seq, chunk from gone order by seq`,
      values: [jobId, atMost],
    });
    return result.rows;
  }

  /** Returns the chunks after `afterSeq` without removing them. */
  async list(jobId: JobId, afterSeq: number, atMost: number): Promise<JobChunk[]> {
    const result = await this.#pool.query<JobChunk>({
      name: 'chunks-list',
      text: 'select seq, chunk from job_chunks where job_id = $1 and seq > $2 order by seq limit $3',
      values: [jobId, afterSeq, atMost],
    });
    return result.rows;
  }

  async #append(calls: readonly ChunkCall[]): Promise<(string | null | undefined)[]> {
    const result = await this.#pool.query<{ n: number; waiter: string | null }>({
      name: 'chunks-append',
      text: `with held as (
               select c.n, c.job_id, c.chunk, j.waiter
               from unnest($1::text[], $2::text[], $3::text[]) with ordinality as c(job_id, worker_id, chunk, n)
               join jobs j on j.id = c.job_id and j.worker_id is not distinct from c.worker_id and j.status = 'IN_PROGRESS'
             ), added as (
               insert into job_chunks (job_id, chunk) select job_id, chunk from held order by n
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
