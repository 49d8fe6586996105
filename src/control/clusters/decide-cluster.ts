import type { ClusterMember, ControlledCluster } from '../../domain/clusters/cluster-lifecycle.ts';
import { isWaitingForPlace } from '../../domain/pods/pod-lifecycle.ts';
import { nextStartAt } from '../../scaling/start-record.ts';

/** The facts of a cluster's row and its pods that a decision depends on. */
export type ClusterFacts = Pick<ControlledCluster, 'wanted' | 'phase' | 'attempts' | 'notBefore' | 'members'>;

export type ClusterAction =
  | { do: 'nothing' }
  /** Claim the GPUs of all pods, or none. */
  | { do: 'place' }
  /** Decide again at `untilMs` (ms since 1970), or earlier if a row changes. */
  | { do: 'wait'; untilMs: number }
  | { do: 'markRunning' }
  /** Stop all pods and give their place back; not placed again before `untilMs`. */
  | { do: 'putBack'; reason: string; untilMs: number }
  /** Stop all pods for good. */
  | { do: 'fail'; reason: string }
  /** Remove the network: no pod is left. */
  | { do: 'finalize' };

const NOTHING: ClusterAction = { do: 'nothing' };
/** The first place that does not hold all pods costs a pause, too: the next one is likely the same. */
const FREE_TRIES = 0;

/**
 * The next step of one cluster (docs/states.md, "Cluster"). Pure: the same facts give the same action, so after a crash the
 * next leader continues where the last one was cut off.
 */
export function decideCluster(cluster: ClusterFacts, nowMs: number): ClusterAction {
  const { wanted, phase, members, attempts } = cluster;
  if (wanted === 'DELETE') return members.length === 0 ? { do: 'finalize' } : NOTHING;
  if (phase === 'FAILED') return NOTHING;
  if (phase === 'WAITING') {
    const notBefore = cluster.notBefore?.getTime() ?? 0;
    return notBefore > nowMs ? { do: 'wait', untilMs: notBefore } : { do: 'place' };
  }
  const current = members.filter(({ isCurrent, wanted: one }) => isCurrent && one === 'RUN');
  const failed = current.find((member) => member.phase === 'ERROR');
  if (failed) return { do: 'fail', reason: `the pod of rank ${describe(failed)}; all pods were stopped` };
  if (phase === 'RUNNING') return NOTHING;
  const unplaced = current.find((member) => member.phase === 'STARTING' && isWaitingForPlace(member.phaseReason));
  if (unplaced) {
    const reason = `not all pods had a place: rank ${unplaced.rank} found none, ${unplaced.phaseReason}`;
    return { do: 'putBack', reason, untilMs: nextStartAt(attempts, nowMs, FREE_TRIES) };
  }
  return current.length === members.length && current.every((member) => member.phase === 'RUNNING')
    ? { do: 'markRunning' }
    : NOTHING;
}

function describe({ rank, phaseReason }: ClusterMember): string {
  return phaseReason === null ? `${rank} failed` : `${rank} failed: ${phaseReason}`;
}
