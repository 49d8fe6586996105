import type { DuePod } from '../../domain/pods/pod-lifetime.ts';

export type DeadlineAction =
  | { do: 'nothing' }
  | { do: 'stop'; reason: string }
  | { do: 'terminate'; reason: string }
  /** The pod does not run when it was to be stopped: the time is over. */
  | { do: 'forget' };

/** What the times of a pod require now. Pure. A locked pod is stopped when it is unlocked, as its lock says. */
export function decideDeadline(pod: Omit<DuePod, 'id' | 'userId'>, nowMs: number): DeadlineAction {
  const { stopAt, terminateAt } = pod;
  if (terminateAt && terminateAt.getTime() <= nowMs) {
    return { do: 'terminate', reason: `terminateAfter was ${terminateAt.toISOString()}` };
  }
  if (!stopAt || stopAt.getTime() > nowMs) return { do: 'nothing' };
  if (!pod.isUp) return { do: 'forget' };
  return pod.isLocked ? { do: 'nothing' } : { do: 'stop', reason: `stopAfter was ${stopAt.toISOString()}` };
}
