import type { ControlledPod } from '../../domain/pods/pod-lifecycle.ts';
import type { DuePod } from '../../domain/pods/pod-lifetime.ts';
import type { ObservedState } from '../../runtimes/runtime.ts';

/** The facts of a pod's row that a decision depends on. */
export type PodFacts = Pick<ControlledPod, 'wanted' | 'revision' | 'phase' | 'phaseRevision' | 'notBefore'>;

/** Its container by the runtime's list; `unknown` when no list is newer than the last action on the pod. */
export type PodContainer = ObservedState | 'absent' | 'unknown';

export type PodAction =
  | { do: 'nothing' }
  /** Start a container of the wanted revision; what is there goes first. */
  | { do: 'start' }
  /** Its container runs: take it over as it is. */
  | { do: 'adopt' }
  /** Its container ended although it is wanted: remove what is left and start it again. */
  | { do: 'finalize' }
  | { do: 'stop' }
  | { do: 'terminate' }
  /** Decide again at `untilMs` (ms since 1970), or earlier if its row or its container changes. */
  | { do: 'wait'; untilMs: number };

const NOTHING: PodAction = { do: 'nothing' };

/**
 * The next step of one pod (docs/states.md, "Pod"). Pure: the same facts give the same action, so after a crash the next
 * leader continues where the last one was cut off.
 */
export function decidePod(pod: PodFacts, container: PodContainer, nowMs: number): PodAction {
  if (pod.wanted === 'TERMINATE') return { do: 'terminate' };
  const exists = container !== 'absent' && container !== 'unknown';
  if (pod.wanted === 'STOP') return pod.phase === 'EXITED' && !exists ? NOTHING : { do: 'stop' };
  if (pod.phaseRevision !== pod.revision) return { do: 'start' };
  if (pod.phase === 'ERROR') return NOTHING; // until a user starts it, which makes another revision
  if (container === 'unknown') return NOTHING;
  if (container === 'running' || container === 'frozen') return { do: 'adopt' };
  if (pod.phase === 'RUNNING') return { do: 'finalize' };
  // A start was cut off, or it is in a pause.
  const notBefore = pod.notBefore?.getTime() ?? 0;
  return notBefore > nowMs ? { do: 'wait', untilMs: notBefore } : { do: 'start' };
}

export type DeadlineAction =
  | { do: 'nothing' }
  | { do: 'stop'; reason: string }
  | { do: 'terminate'; reason: string }
  /** The pod does not run when it was to be stopped: the time is over. */
  | { do: 'forget' };

/** Decides what the times of a pod require now. Pure. A locked pod is stopped when it is unlocked, as its lock says. */
export function decideDeadline(pod: Omit<DuePod, 'id' | 'userId'>, nowMs: number): DeadlineAction {
  const { stopAt, terminateAt } = pod;
  if (terminateAt && terminateAt.getTime() <= nowMs) {
    return { do: 'terminate', reason: `terminateAfter was ${terminateAt.toISOString()}` };
  }
  if (!stopAt || stopAt.getTime() > nowMs) return { do: 'nothing' };
  if (!pod.isUp) return { do: 'forget' };
  return pod.isLocked ? { do: 'nothing' } : { do: 'stop', reason: `stopAfter was ${stopAt.toISOString()}` };
}
