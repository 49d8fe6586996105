import { expect, test } from 'vitest';
import type { Pod } from '../api/objects.ts';
import { observe } from './observed-pod.ts';
import { ANNOTATIONS, CONTAINER, LABELS, toPodRecord } from './pod-record.ts';

const STARTED = '2026-01-01T00:00:00Z';
const FINISHED = '2026-01-01T00:01:00Z';

function podWith(status: Pod['status'], annotations: Record<string, string> = {}): Pod {
  return {
    metadata: {
      name: 'podyard-w1',
      uid: 'u',
      resourceVersion: '1',
      labels: { [LABELS.id]: 'w1', [LABELS.kind]: 'pod' },
      annotations,
    },
    spec: { nodeName: 'node1', containers: [{ name: CONTAINER, resources: { limits: { memory: '64Mi' } } }] },
    ...(status && { status }),
  };
}

const seen = (status: Pod['status'], lostSince: Date | null = null, annotations?: Record<string, string>) =>
  observe(toPodRecord(podWith(status, annotations)), lostSince, () => []);
const ended = (exitCode: number, reason: string, message?: string): Pod['status'] => ({
  phase: 'Failed',
  containerStatuses: [
    {
      name: CONTAINER,
      state: {
        terminated: { exitCode, reason, startedAt: STARTED, finishedAt: FINISHED, ...(message && { message }) },
      },
    },
  ],
});
const running: Pod['status'] = {
  phase: 'Running',
  podIP: '10.0.0.9',
  containerStatuses: [{ name: CONTAINER, state: { running: { startedAt: STARTED } } }],
};

test('a pod that has not started is created, whatever it waits for', () => {
  expect(seen(undefined)).toMatchObject({ id: 'w1', kind: 'pod', state: 'created', address: null, startedAt: null });
  const waiting = { waiting: { reason: 'ContainerCreating' } };
  expect(
    seen({ phase: 'Pending', podIP: '10.0.0.9', containerStatuses: [{ name: CONTAINER, state: waiting }] }),
  ).toMatchObject({
    state: 'created',
    address: null,
  });
});

test('a running pod is running, or frozen when it is parked', () => {
  expect(seen(running)).toMatchObject({ state: 'running', address: '10.0.0.9', startedAt: new Date(STARTED) });
  expect(seen(running, null, { [ANNOTATIONS.parked]: STARTED })).toMatchObject({
    state: 'frozen',
    address: '10.0.0.9',
  });
});

test('a pod that ended by itself has an exit code and no reason', () => {
  const times = { startedAt: new Date(STARTED), finishedAt: new Date(FINISHED) };
  expect(seen(ended(7, 'Error'))).toMatchObject({
    state: 'exited',
    exitCode: 7,
    reason: null,
    address: null,
    ...times,
  });
  expect(seen(ended(0, 'Completed'))).toMatchObject({ state: 'exited', exitCode: 0, reason: null });
});

test('the pods of a lost node are lost, except those that had ended', () => {
  const since = new Date(FINISHED);
  const reason = 'Node node1 was lost';
  expect(seen(running, since)).toMatchObject({
    state: 'exited',
    exitCode: null,
    reason,
    address: null,
    finishedAt: since,
  });
  expect(seen(ended(0, 'Completed'), since)).toMatchObject({ state: 'exited', exitCode: 0, reason: null });
});

test.each<[string, Pod['status'], string]>([
  ['memory', ended(137, 'OOMKilled'), 'Out of memory (limit 64 MiB)'],
  [
    'eviction',
    { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    'Evicted: The node was low on resource: memory.',
  ],
  [
    'preemption',
    {
      ...ended(143, 'Error'),
      conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler', message: 'x' }],
    },
    'Preempted by a pod of higher priority',
  ],
  ['shutdown', { phase: 'Failed', reason: 'Terminated', message: 'x' }, 'Node shut down'],
  [
    'a node that rejects it',
    { phase: 'Failed', reason: 'OutOfcpu', message: 'Pod Node didn’t have enough resource: cpu' },
    'Rejected by the node: Pod Node didn’t have enough resource: cpu',
  ],
  [
    'a missing program',
    ended(128, 'StartError', 'failed to create: unable to start container process: exec: "/x": no such file: unknown'),
    'The container could not be started: exec: "/x": no such file',
  ],
  ['something new', { phase: 'Failed', reason: 'Martians', message: 'came' }, 'Ended by the cluster: Martians came'],
  ['nothing at all', { phase: 'Failed' }, 'Ended by the cluster without a reason'],
])('an end by %s has one sentence as its reason', (_, status, sentence) => {
  expect(seen(status)).toMatchObject({ state: 'exited', reason: sentence });
});

test('containers that the cluster injected, in any order, are not taken for the workload', () => {
  const running = { running: { startedAt: STARTED } };
  const proxy = { name: 'istio-proxy', state: running };
  const terminated = { exitCode: 3, reason: 'Error', startedAt: STARTED, finishedAt: FINISHED };
  const workload = { name: CONTAINER, state: { terminated } };
  for (const containerStatuses of [
    [proxy, workload],
    [workload, proxy],
  ])
    expect(seen({ phase: 'Running', podIP: '10.0.0.9', containerStatuses })).toMatchObject({
      state: 'exited',
      exitCode: 3,
    });
  expect(seen({ phase: 'Running', podIP: '10.0.0.9', containerStatuses: [proxy] })).toMatchObject({ state: 'created' });
});
