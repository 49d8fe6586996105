import { describe, expect, test } from 'vitest';
import type { PodId } from '../../core/ids.ts';
import type { ClusterMember } from '../../domain/clusters/cluster-lifecycle.ts';
import { placeReason } from '../../domain/pods/pod-lifecycle.ts';
import { type ClusterFacts, decideCluster } from './decide-cluster.ts';

const NOW = 1_000_000;

const member = (rank: number, change: Partial<ClusterMember> = {}): ClusterMember => ({
  id: `pod${rank}` as PodId,
  rank,
  wanted: 'RUN',
  phase: 'RUNNING',
  isCurrent: true,
  phaseReason: null,
  ...change,
});
const decide = (change: Partial<ClusterFacts>) =>
  decideCluster(
    { wanted: 'RUN', phase: 'STARTING', attempts: 0, notBefore: null, members: [member(0), member(1)], ...change },
    NOW,
  );
const failed = member(1, { phase: 'ERROR', phaseReason: 'no such image' });
const unplaced = member(1, { phase: 'STARTING', phaseReason: placeReason('no node is free') });

describe('a row of docs/states.md, "Cluster"', () => {
  test('WAITING: placed, unless a backoff runs', () => {
    expect(decide({ phase: 'WAITING' })).toEqual({ do: 'place' });
    expect(decide({ phase: 'WAITING', notBefore: new Date(NOW) })).toEqual({ do: 'place' });
    const later = new Date(NOW + 1);
    expect(decide({ phase: 'WAITING', notBefore: later })).toEqual({ do: 'wait', untilMs: NOW + 1 });
  });

  test('STARTING: runs once every pod does, with its wanted container', () => {
    expect(decide({})).toEqual({ do: 'markRunning' });
    expect(decide({ members: [member(0), member(1, { phase: 'STARTING' })] })).toEqual({ do: 'nothing' });
    expect(decide({ members: [member(0), member(1, { isCurrent: false })] })).toEqual({ do: 'nothing' });
    expect(decide({ members: [member(0), member(1, { wanted: 'STOP' })] })).toEqual({ do: 'nothing' });
  });

  test('STARTING: a pod without a place puts all back, after a backoff that doubles up to five minutes', () => {
    const pauseAfter = (attempts: number) => {
      const action = decide({ members: [member(0), unplaced], attempts });
      return action.do === 'putBack' ? action.untilMs - NOW : action;
    };
    expect([0, 1, 2, 3, 100].map(pauseAfter)).toEqual([1_000, 2_000, 4_000, 8_000, 300_000]);
    expect(decide({ members: [member(0), unplaced] })).toMatchObject({
      reason: 'not all pods had a place: rank 1 found none, it waits for a place: no node is free',
    });
  });

  test('RUNNING: a pod without a place, or one that is started again, changes nothing', () => {
    expect(decide({ phase: 'RUNNING', members: [member(0), unplaced] })).toEqual({ do: 'nothing' });
    const restarted = member(1, { phase: 'STARTING', phaseReason: 'it exited with code 1; it is started again' });
    expect(decide({ phase: 'RUNNING', members: [member(0), restarted] })).toEqual({ do: 'nothing' });
  });

  test.each(['STARTING', 'RUNNING'] as const)('%s: a pod in ERROR stops all', (phase) => {
    const reason = 'the pod of rank 1 failed: no such image; all pods were stopped';
    expect(decide({ phase, members: [unplaced, failed] })).toEqual({ do: 'fail', reason });
  });

  test('an ERROR of a container before the wanted one does not count', () => {
    expect(decide({ members: [member(0), { ...failed, isCurrent: false }] })).toEqual({ do: 'nothing' });
  });

  test('FAILED: final', () => {
    expect(decide({ phase: 'FAILED', members: [failed] })).toEqual({ do: 'nothing' });
  });

  test.each(['WAITING', 'STARTING', 'RUNNING', 'FAILED'] as const)(
    '%s and deleted: ends when no pod is left',
    (phase) => {
      const deleted = { wanted: 'DELETE', phase } as const;
      expect(decide({ ...deleted, members: [member(1, { wanted: 'TERMINATE' })] })).toEqual({ do: 'nothing' });
      expect(decide({ ...deleted, members: [] })).toEqual({ do: 'finalize' });
    },
  );
});
