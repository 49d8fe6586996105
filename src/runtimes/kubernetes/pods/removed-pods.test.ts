import { expect, test } from 'vitest';
import { ManualClock } from '../../simulated/timer-clock.ts';
import type { Pod } from '../api/objects.ts';
import { RemovedPods } from './observed-pod.ts';
import { LABELS, toPodRecord } from './pod-record.ts';

const pod = (id: string) => {
  const conditions = [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' } as const];
  const metadata = { name: `podyard-${id}`, uid: `uid-${id}`, resourceVersion: '1', labels: { [LABELS.id]: id } };
  return toPodRecord({ metadata, spec: { containers: [{ name: 'workload' }] }, status: { conditions } } as Pod);
};
const noPod = () => false;

test('a removed pod is listed as ended with its reason, until it is stopped', () => {
  const removed = new RemovedPods(new ManualClock());
  removed.add(pod('w1'));
  expect(removed.list(noPod)).toMatchObject([
    { id: 'w1', state: 'exited', exitCode: null, reason: 'Preempted by a pod of higher priority' },
  ]);
  removed.forget('w1');
  expect(removed.list(noPod)).toEqual([]);
});

test('it is no longer listed after ten minutes, or once the workload has a pod again', async () => {
  const clock = new ManualClock();
  const removed = new RemovedPods(clock);
  removed.add(pod('w1'));
  await clock.advance(300_000);
  removed.add(pod('w2'));
  removed.add(pod('w3'));
  await clock.advance(300_001);
  expect(removed.list((id) => id === 'w3').map(({ id }) => id)).toEqual(['w2']);
});
