/** What is wanted of a pod and what was last noted about it. */
export interface PodFacts {
  wanted: 'RUN' | 'STOP' | 'TERMINATE';
  revision: number;
  phase: 'PROVISIONING' | 'STARTING' | 'RUNNING' | 'EXITED' | 'ERROR';
  phaseRevision: number;
  /** The end of a pause, in ms since 1970. */
  notBefore: number | null;
}

/** Its container by the runtime's list; `unknown` when no list was made since somebody last changed it. */
export type PodContainer = 'created' | 'running' | 'frozen' | 'exited' | 'absent' | 'unknown';

export type PodDecision =
  | { do: 'nothing'; untilMs: number | null }
  /** Whatever is there makes room for a container of the wanted revision. */
  | { do: 'start' }
  /** It runs, and is taken as it is. */
  | { do: 'adopt' }
  /** It ended although it shall run. */
  | { do: 'bury' }
  | { do: 'stop' }
  | { do: 'terminate' };

const NOTHING: PodDecision = { do: 'nothing', untilMs: null };

/**
 * The next step of one pod (docs/states.md, "Pod"). Same facts, same answer: whoever leads after a crash goes on where
 * another one was cut off.
 */
export function decidePod(pod: PodFacts, container: PodContainer, now: number): PodDecision {
  if (pod.wanted === 'TERMINATE') return { do: 'terminate' };
  const isThere = container !== 'absent' && container !== 'unknown';
  if (pod.wanted === 'STOP') return pod.phase === 'EXITED' && !isThere ? NOTHING : { do: 'stop' };
  if (pod.phaseRevision !== pod.revision) return { do: 'start' };
  const isUp = container === 'running' || container === 'frozen';
  switch (pod.phase) {
    case 'ERROR':
      return NOTHING; // until somebody starts it, which is another revision
    case 'RUNNING':
      if (container === 'unknown') return NOTHING;
      return { do: isUp ? 'adopt' : 'bury' };
    default:
      // Nobody is at work on it: a start was cut off, or a pause is being kept.
      if (container === 'unknown') return NOTHING;
      if (isUp) return { do: 'adopt' };
      if (pod.notBefore !== null && pod.notBefore > now) return { do: 'nothing', untilMs: pod.notBefore };
      return { do: 'start' };
  }
}
