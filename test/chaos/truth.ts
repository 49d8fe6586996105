import { expect } from 'vitest';
import { Api, until } from '../e2e/api.ts';
import type { ServerProcess } from '../e2e/server-process.ts';
import type { Accepted, Load } from './load.ts';

interface Counts {
  completed: number;
  failed: number;
  cancelled: number;
  timed_out: number;
  queued: number;
  in_progress: number;
}

/**
 * Checks the state after the chaos: every job accepted with 200 ended exactly once with its own result, in answers and in the
 * database, and the counters agree. `mayFail`: a job whose worker was killed twice may have failed.
 */
export async function expectNothingLost(
  server: ServerProcess,
  load: Load,
  endpointIds: readonly string[],
  options: { mayFail: boolean; atMostMs: number },
): Promise<void> {
  const api = new Api(server);
  const settlesAt = performance.now();
  await until(
    'all jobs have ended',
    async () => (await server.query('select from jobs limit 1')).length === 0,
    options.atMostMs,
  ).catch(async (error) => {
    const jobs = await server.query('select id, status, worker_id, attempt, created_at, started_at from jobs limit 20');
    throw new Error(`some jobs never ended: ${JSON.stringify(jobs)}`, { cause: error });
  });
  console.log(`all jobs had ended ${((performance.now() - settlesAt) / 1000).toFixed(1)} s after the load`);
  await inParallel(load.accepted, 8, async (job) => load.record(job, await api.status(job.endpointId, job.id)));
  expect(load.faults, load.faults.join('; ')).toEqual([]);
  expect(load.accepted.filter((job) => !isOwnEnd(job, options.mayFail)).slice(0, 20)).toEqual([]);

  const twice = await server.query('select id from finished_jobs group by id having count(*) > 1');
  expect(twice, 'jobs that ended twice').toEqual([]);
  const both = await server.query('select id from jobs join finished_jobs using (id)');
  expect(both, 'jobs that ended and still wait').toEqual([]);
  const ends = await server.query<{ id: string; input: { echo: string }; status: string; output: unknown }>(
    'select id, input::jsonb as input, status, output::jsonb as output from finished_jobs where endpoint_id = any($1)',
    [endpointIds],
  );
  const foreign = ends.filter(({ status, output, input }) => status === 'COMPLETED' && output !== input.echo);
  expect(foreign, "jobs with another's result").toEqual([]);
  const known = new Set(ends.map(({ id }) => id));
  expect(load.accepted.filter(({ id }) => !known.has(id))).toEqual([]);
  expectOneJobAKey(load, ends);
  await expectExactCounters(server, api, endpointIds);
}

function isOwnEnd({ reported, token }: Accepted, mayFail: boolean): boolean {
  if (reported?.status === 'COMPLETED') return reported.output === token;
  if (reported?.status === 'FAILED') return mayFail && reported.error === 'job timed out after 1 retries';
  return reported?.status === 'CANCELLED';
}

/** A key makes one job, however often the client repeats the request. */
function expectOneJobAKey(load: Load, ends: readonly { id: string; input: { echo: string } }[]): void {
  const byToken = Map.groupBy(ends, ({ input }) => input.echo);
  const repeated = load.accepted.filter(({ hasKey, token }) => hasKey && byToken.get(token)?.length !== 1);
  expect(repeated, 'idempotent submits that made more than one job').toEqual([]);
}

async function expectExactCounters(server: ServerProcess, api: Api, endpointIds: readonly string[]): Promise<void> {
  for (const endpointId of endpointIds) {
    const [counted] = await server.query<Counts>(
      `select sum(completed)::int as completed, sum(failed)::int as failed, sum(cancelled)::int as cancelled,
              sum(timed_out)::int as timed_out, sum(queued + queued_low)::int as queued, sum(in_progress)::int as in_progress
       from endpoint_counters where endpoint_id = $1`,
      [endpointId],
    );
    const [truth] = await server.query<Counts>(
      `select count(*) filter (where status = 'COMPLETED')::int as completed,
              count(*) filter (where status = 'FAILED')::int as failed,
              count(*) filter (where status = 'CANCELLED')::int as cancelled,
              count(*) filter (where status = 'TIMED_OUT')::int as timed_out, 0 as queued, 0 as in_progress
       from finished_jobs where endpoint_id = $1`,
      [endpointId],
    );
    expect(counted, `the counters of ${endpointId}`).toEqual(truth);
    const health = await api.call<{ jobs: Record<string, number> }>('GET', `/v2/${endpointId}/health`);
    expect(health.jobs).toMatchObject({
      completed: truth!.completed,
      failed: truth!.failed,
      inQueue: 0,
      inProgress: 0,
    });
  }
}

async function inParallel<T>(items: readonly T[], lanes: number, work: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const item of rest) await work(item);
    }),
  );
}
