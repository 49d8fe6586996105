import type { EndpointSnapshot } from '../../../api/live-snapshots.ts';
import { formatNumber } from '../../../ui/text/format.ts';

/** From this share of the limit on, its reason is shown. */
const NEAR = 0.8;

/** `of 1,500`: how many jobs the queue takes. */
export function queueNote(snapshot: EndpointSnapshot | undefined): string | undefined {
  return snapshot?.queueLimit ? `of ${formatNumber(snapshot.queueLimit.jobs)}` : undefined;
}

/** True once further jobs are refused. */
export function isQueueFull({ queueLimit, jobs }: EndpointSnapshot): boolean {
  return !!queueLimit && jobs.inQueue > queueLimit.jobs;
}

/** Says what the queue takes and why, for a paused endpoint and for a queue that is nearly full; else null. */
export function queueText(snapshot: EndpointSnapshot): string | null {
  const { queueLimit, jobs, state } = snapshot;
  if (!queueLimit) return null;
  const isPaused = state.state === 'PAUSED' && state.reason?.startsWith('workers.max is 0');
  if (!isPaused && jobs.inQueue < NEAR * queueLimit.jobs) return null;
  const limit = `The limit is ${formatNumber(queueLimit.jobs)} with ${queueLimit.reason}.`;
  return isQueueFull(snapshot) ? `The queue is full: new jobs are refused. ${limit}` : `Queued jobs wait. ${limit}`;
}
