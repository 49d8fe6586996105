import type { EndpointId, WorkerId } from '../../core/ids.ts';
import type { EndedJob } from '../../domain/jobs/job.ts';
import type { JobQueue } from '../../domain/jobs/job-queue.ts';

/** A lost job is delivered once more (docs/interface/queue.md, "Redelivery"). */
const MAX_RETRIES = 1;

/** Notifies the data plane of this process: of jobs that were queued again, and of jobs that ended. */
export interface NotifyDispatch {
  queued: (endpointId: EndpointId) => void;
  ended: (jobs: readonly EndedJob[]) => void;
}

/** Takes the leases of lost workers away, and notifies those who wait for the jobs. */
export async function rescueLeases(
  queue: JobQueue,
  notify: NotifyDispatch,
  workerIds: readonly WorkerId[],
): Promise<void> {
  const rescued = await queue.rescue(workerIds, MAX_RETRIES);
  for (const endpointId of rescued.requeued) notify.queued(endpointId);
  notify.ended(rescued.ended);
}
