import { expect } from 'vitest';
import { type EndpointId, type JobId, newId, newJobId, type WorkerId } from '../src/core/ids.ts';
import type { Pool } from '../src/db/pool.ts';
import type { JobResult, NewJob } from '../src/domain/jobs/job.ts';
import { JobQueue } from '../src/domain/jobs/job-queue.ts';
import { JobStream } from '../src/domain/jobs/job-stream.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { insertEndpoint } from './insert-endpoint.ts';

const COUNTERS = ['queued', 'queued_low', 'in_progress', 'completed', 'failed', 'cancelled', 'timed_out', 'retried'];

/** A job queue on a database of its own, and short ways to fill it. */
export class JobQueueFixture {
  readonly queue: JobQueue;
  readonly stream: JobStream;
  readonly #database: TestDatabase;

  static async create(): Promise<JobQueueFixture> {
    const database = await createTestDatabase({ maxConnections: 8 });
    await database.pool.query("insert into users (id, name) values ('user', 'user')");
    return new JobQueueFixture(database);
  }

  private constructor(database: TestDatabase) {
    this.#database = database;
    this.queue = this.newQueue();
    this.stream = new JobStream(database.pool);
  }

  drop(): Promise<void> {
    return this.#database.drop();
  }

  get pool(): Pool {
    return this.#database.pool;
  }

  /** The queue of another process. */
  newQueue(limits = { resultRetentionMs: 60_000, syncResultRetentionMs: 30_000 }): JobQueue {
    return new JobQueue({ pool: this.pool, processId: newId(8), limits });
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows of any query
  async sql(text: string, ...values: unknown[]): Promise<any[]> {
    return (await this.pool.query(text, values)).rows;
  }

  async endpoint(timeoutMs = 0): Promise<EndpointId> {
    const id = newId<EndpointId>();
    await insertEndpoint(this.pool, { id, user_id: 'user', timeout_ms: timeoutMs });
    return id;
  }

  async submit(endpointId: EndpointId, change: Partial<NewJob> = {}): Promise<JobId> {
    const job = newJob(endpointId, change);
    expect(await this.queue.submit(job)).toBe(true);
    return job.id;
  }

  /** A job that a worker holds. */
  async leased(endpointId: EndpointId, change: Partial<NewJob> = {}): Promise<{ jobId: JobId; workerId: WorkerId }> {
    const workerId = worker();
    const jobId = await this.submit(endpointId, { ...change, workerId });
    return { jobId, workerId };
  }

  async listChunks(jobId: JobId, after: number, atMost: number) {
    return (await this.stream.list((await this.queue.find(jobId))!, after, atMost)).chunks;
  }

  async counters(endpointId: EndpointId): Promise<Record<string, number>> {
    const sums = COUNTERS.map((name) => `coalesce(sum(${name}), 0)::int8 as ${name}`).join(', ');
    return (await this.sql(`select ${sums} from endpoint_counters where endpoint_id = $1`, endpointId))[0];
  }
}

/** All counters of an endpoint: those that are not named are zero. */
export const moved = (change: Record<string, number>): Record<string, number> => ({
  ...Object.fromEntries(COUNTERS.map((name) => [name, 0])),
  ...change,
});

export function newJob(endpointId: EndpointId, change: Partial<NewJob> = {}): NewJob {
  return {
    id: newJobId('', Date.now()),
    endpointId,
    isLowPriority: false,
    isSync: false,
    input: '{"a":1}',
    extras: null,
    webhook: null,
    executionTimeoutMs: null,
    ttlMs: 86_400_000,
    hasOwnTtl: false,
    workerId: null,
    waiter: null,
    ...change,
  };
}

export const worker = (name = newId(8)): WorkerId => name as WorkerId;

export const done = (jobId: JobId, workerId: WorkerId, output: string | null = '"ok"'): JobResult => ({
  jobId,
  workerId,
  status: 'COMPLETED',
  output,
  error: null,
});
