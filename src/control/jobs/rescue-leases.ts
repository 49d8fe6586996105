import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { EndedJob } from '../../domain/jobs/job.ts';
import type { JobQueue } from '../../domain/jobs/job-queue.ts';

/** docs/interface/queue.md, "Redelivery": a lost job is delivered again once. */
const MAX_RETRIES = 1;

/** Ends the leases of lost workers, and tells those who wait: for the jobs that are queued again, and for those that failed. */
export async function rescueLeases(
  queue: JobQueue,
  tell: { queued: (endpointId: EndpointId) => void; ended: (jobs: readonly EndedJob[]) => void },
  workerIds: readonly WorkerId[],
): Promise<void> {
  const rescued = await queue.rescue(workerIds, MAX_RETRIES);
  for (const endpointId of rescued.requeued) tell.queued(endpointId);
  tell.ended(rescued.ended);
}
