import { readLogRecord } from '../../core/text/log-record.ts';
import { type ApiClient, ApiRefusal } from '../shared/api-client.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';

/** Clocks of machines differ, and a worker's last lines may come after its result. */
const MARGIN_MS = 1_000;

/** Where a job's lines are. */
export interface JobLog {
  workerId?: string;
  since?: string;
  until?: string;
  search?: string;
}

/**
 * Returns where a job's lines are: in the log of its worker while it ran. Those of a job that is no longer kept are all lines that
 * name it. Null: no worker has taken the job, which is then noted.
 */
export async function findJobLog(
  client: ApiClient,
  endpointId: string,
  jobId: string,
  output: CliOutput,
): Promise<JobLog | null> {
  const path = { id: endpointId, jobId };
  const job = await client.call('get', '/v2/serverless/{id}/requests/{jobId}', { path }).catch((error: unknown) => {
    if (error instanceof ApiRefusal && error.status === 404) return null;
    throw error;
  });
  if (job === null) {
    output.note(`Job ${jobId} is not kept, or never was: these are the lines that name it.`);
    return { search: jobId };
  }
  if (job.workerId === null || job.startedAt === null) {
    output.note(`No worker has taken job ${jobId}: it has no lines.`);
    return null;
  }
  const around = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString();
  return {
    workerId: job.workerId,
    since: around(job.startedAt, -MARGIN_MS),
    ...(job.finishedAt !== null && { until: around(job.finishedAt, MARGIN_MS) }),
  };
}

/** True unless a line names another job, which ran beside this one. What a handler prints names none. */
export function isOfJob(line: string, jobId: string): boolean {
  const named = readLogRecord(line)?.jobId ?? null;
  return named === null || named === jobId;
}
