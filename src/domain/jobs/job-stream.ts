import { Batcher } from '../../core/flow/batcher.ts';
import type { JobId, WorkerId } from '../../core/ids.ts';
import { textArray } from '../../db/arrays.ts';
import { isValueFault, type Pool } from '../../db/pool.ts';
import type { JobView } from './job.ts';
import { type BySize, bySize, COMMIT_TIMEOUT_MS, MAX_BATCH_BYTES, resultNotStored } from './job-batching.ts';
import { LARGE_RESULT_BYTES } from './payloads.ts';

export interface JobChunk {
  seq: number;
  bytes: number;
  /** JSON text. Null for a large one, which comes alone: `readChunk` or `takeChunk` reads it. */
  chunk: string | null;
}

/** The next chunks: at most 64 KiB, or one. */
export interface Chunks {
  chunks: JobChunk[];
  /** True if there were more than these. */
  hasMore: boolean;
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

/** Chooses the next chunks by their size, without reading them. `from`: the rest of the condition; `limit`: the number. */
const picked = (from: string, limit: string) => `
  with next as (
    select seq, octet_length(chunk) as bytes from job_chunks where job_id = $1 and ${OF_ATTEMPT} ${from}
    order by seq limit ${limit}::int + 1
  ), summed as (
    select seq, bytes, sum(bytes) over (order by seq) as total, row_number() over (order by seq) as n,
           count(*) over () as available
    from next
  ), picked as (
    select seq, bytes, count(*) over () < available as "hasMore" from summed
    where n <= ${limit}::int and (n = 1 or total <= ${LARGE_RESULT_BYTES})
  )`;

/** A job's chunks, stored in order until /stream fetches them, at most as long as results. */
export class JobStream {
  readonly #pool: Pool;
  readonly #appends: BySize<Batcher<ChunkCall, string | null | undefined>>;

  constructor(pool: Pool) {
    this.#pool = pool;
    this.#appends = bySize(
      (_, lanes) =>
        new Batcher({
          lanes,
          maxSize: 256,
          bytes: { max: MAX_BATCH_BYTES, of: (call) => call.chunk.length },
          timeout: { ms: COMMIT_TIMEOUT_MS, error: resultNotStored },
          isCallFault: isValueFault,
          flush: (calls) => this.#append(calls),
        }),
    );
  }

  /**
   * Appends a chunk of the lease's holder. Returns the processes that wait for the job (null: none), or undefined if the
   * worker does not hold the lease and the chunk was dropped.
   */
  append(jobId: JobId, workerId: WorkerId, chunk: string | Buffer): Promise<string | null | undefined> {
    return this.#appends(chunk.length).run({ jobId, workerId, chunk });
  }

  /** Removes and returns the oldest chunks of the job's attempt. A large one is left for `takeChunk`. */
  drain(job: Attempt, atMost: number): Promise<Chunks> {
    return this.#read({
      name: 'chunks-drain',
      text: `${picked('', '$4')}, gone as (
               delete from job_chunks where job_id = $1
                 and seq in (select seq from picked where bytes <= ${LARGE_RESULT_BYTES})
               returning seq, chunk)
             select p.seq, p.bytes, g.chunk, p."hasMore" from picked p left join gone g on g.seq = p.seq
             where g.seq is not null or p.bytes > ${LARGE_RESULT_BYTES} order by p.seq`,
      values: [job.id, job.workerId, job.retries + 1, atMost],
    });
  }

  /** Returns the chunks of the job's attempt after `afterSeq` without removing them. */
  list(job: Attempt, afterSeq: number, atMost: number): Promise<Chunks> {
    return this.#read({
      name: 'chunks-list',
      text: `${picked('and seq > $4', '$5')}
             select p.seq, p.bytes, case when p.bytes <= ${LARGE_RESULT_BYTES} then c.chunk end as chunk, p."hasMore"
             from picked p join job_chunks c on c.job_id = $1 and c.seq = p.seq order by p.seq`,
      values: [job.id, job.workerId, job.retries + 1, afterSeq, atMost],
    });
  }

  /** Returns a chunk; undefined if it is gone. */
  async readChunk(jobId: JobId, seq: number): Promise<string | undefined> {
    const text = 'select chunk from job_chunks where job_id = $1 and seq = $2';
    return (await this.#pool.query<{ chunk: string }>(text, [jobId, seq])).rows[0]?.chunk;
  }

  /** Removes and returns a chunk; undefined if it is gone. */
  async takeChunk(jobId: JobId, seq: number): Promise<string | undefined> {
    const text = 'delete from job_chunks where job_id = $1 and seq = $2 returning chunk';
    return (await this.#pool.query<{ chunk: string }>(text, [jobId, seq])).rows[0]?.chunk;
  }

  async #read(query: { name: string; text: string; values: unknown[] }): Promise<Chunks> {
    const { rows } = await this.#pool.query<JobChunk & { hasMore: boolean }>(query);
    return {
      chunks: rows.map(({ seq, bytes, chunk }) => ({ seq, bytes, chunk })),
      hasMore: rows[0]?.hasMore ?? false,
    };
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
