import { ENDPOINT_STATES, type EndpointState } from '../endpoints/endpoint-state.ts';
import type { ExplainedStage, WaitStage } from './explain-job.ts';

/**
 * Why a queued job is not running: a state of its endpoint that keeps it from running; `LOW_PRIORITY`, because such jobs start
 * no worker; or `BUSY`, because the workers have other jobs.
 */
export const WAIT_REASONS = [
  ...ENDPOINT_STATES.filter((state) => state !== 'HEALTHY' && state !== 'SCALED_TO_ZERO' && state !== 'ROLLING_OUT'),
  'LOW_PRIORITY',
  'BUSY',
] as const;
export type WaitReason =
  | Exclude<EndpointState['state'], 'HEALTHY' | 'SCALED_TO_ZERO' | 'ROLLING_OUT'>
  | 'LOW_PRIORITY'
  | 'BUSY';

export interface JobWait {
  reason: WaitReason;
  /** A sentence without capital and full stop; of a failure with the last lines of output. */
  text: string;
  /** Jobs that come first, at most MAX_AHEAD. */
  ahead: number;
}

const ON_THE_WAY: Partial<Record<WaitStage, string>> = {
  worker: 'no worker has been started for it yet',
  thaw: 'a frozen worker is being thawed',
  capacity: 'a worker waits for capacity',
  pull: 'a worker pulls its image',
  create: 'the container of a worker is being created',
  start: 'the container of a worker starts',
  ready: 'a worker loads its program',
};

/** Says why a queued job waits. `stage`: what it waits for now (`explainAttempt`). Pure. */
export function explainWait(
  endpoint: Pick<EndpointState, 'state' | 'reason'>,
  job: { isLowPriority: boolean; ahead: number },
  stage: ExplainedStage | undefined,
): JobWait {
  const { ahead } = job;
  const { state, reason } = endpoint;
  switch (state) {
    case 'PAUSED':
      // A paused roll-out leaves workers running, and they take jobs.
      if (stage?.stage === 'queue') return { reason: 'BUSY', text: busy(ahead), ahead };
      return { reason: 'PAUSED', text: reason ?? 'the endpoint is paused', ahead };
    case 'FAILING':
      return { reason: 'FAILING', text: reason ?? 'its workers fail', ahead };
    case 'WAITING_FOR_CAPACITY':
      return { reason: 'WAITING_FOR_CAPACITY', text: reason ?? 'no worker has a place', ahead };
    case 'STARTING':
    case 'SCALED_TO_ZERO':
      if (job.isLowPriority && (stage === undefined || stage.stage === 'worker')) {
        return {
          reason: 'LOW_PRIORITY',
          text: 'a low-priority job starts no worker; it runs when one is there',
          ahead,
        };
      }
      return { reason: 'STARTING', text: stage?.reason ?? wordsOf(stage), ahead };
    default:
      return { reason: 'BUSY', text: busy(ahead), ahead };
  }
}

function wordsOf(stage: ExplainedStage | undefined): string {
  return (stage && ON_THE_WAY[stage.stage]) ?? ON_THE_WAY.worker!;
}

function busy(ahead: number): string {
  return ahead === 0 ? 'it is the next one; every worker is busy' : 'every worker is busy, and other jobs come first';
}
