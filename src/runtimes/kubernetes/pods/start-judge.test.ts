import { expect, test, vi } from 'vitest';
import { NoCapacity, type WorkloadSpec } from '../../runtime.ts';
import type { ContainerStatus, Pod } from '../api/objects.ts';
import { toPodRecord } from './pod-record.ts';
import { StartJudge } from './start-judge.ts';

const SPEC = {
  id: 'w1',
  image: 'team/model:v1',
  registry: { id: 'r1', auth: { username: 'ada', password: 'hunter2' } },
} as WorkloadSpec;

function podWith(status: Pod['status'], more: Partial<Pod['metadata']> = {}) {
  const metadata = { name: 'podyard-w1', uid: 'u', resourceVersion: '1', ...more };
  return toPodRecord({
    metadata,
    spec: { containers: [{ name: 'workload' }], nodeName: 'node1' },
    ...(status && { status }),
  } as Pod);
}

const progress = () => ({ last: { reason: '', message: '', at: performance.now() }, end: () => {} });
const judge = (status: Pod['status'], more?: Partial<Pod['metadata']>) =>
  new StartJudge(SPEC, 1000, progress()).judge(podWith(status, more), null);
const container = (state: ContainerStatus['state'], podIP?: string): Pod['status'] => ({
  phase: 'Pending',
  ...(podIP && { podIP }),
  containerStatuses: [{ name: 'workload', ...(state && { state }) }],
});

test('a start succeeds when the container runs and has an address, or has run', () => {
  expect(judge({ phase: 'Pending' })).toBeUndefined();
  const running = { startedAt: '2026-01-01T00:00:00Z' };
  expect(judge(container({ running }))).toBeUndefined();
  expect(judge(container({ running }, '10.0.0.1'))).toMatchObject({ key: 'podyard-w1' });
  expect(judge(container({ terminated: { exitCode: 7, reason: 'Error' } }))).toMatchObject({ key: 'podyard-w1' });
});

test.each([
  ['ErrImagePull', 'unauthorized: hunter2 is wrong', /^The registry docker.io refused the credentials for image/],
  ['ErrImagePull', 'manifest unknown', /^Image 'team\/model:v1' does not exist in the registry docker.io\.$/],
  [
    'ImagePullBackOff',
    'failed to do request: Head "https://10.0.0.5:22/v2/": dial tcp 10.0.0.5:22: connection refused',
    /^The registry docker.io gave no usable answer for image 'team\/model:v1'\.$/,
  ],
  ['InvalidImageName', '', /^'team\/model:v1' is not a valid image name\.$/],
  [
    'CreateContainerConfigError',
    'secret "podyard-w1" has no key',
    /could not be started: secret "podyard-w1" has no key/,
  ],
  [
    'RunContainerError',
    'exec: "/x": not found: unknown',
    /^The container could not be started: exec: "\/x": not found$/,
  ],
])('%s fails a start with a sentence', (reason, message, sentence) => {
  expect(() => judge(container({ waiting: { reason, message } }))).toThrow(sentence);
});

test.each(['secret "podyard-w1" not found', 'failed to sync secret cache: timed out waiting for the condition'])(
  'a missing environment is waited for: %s',
  (message) => {
    expect(judge(container({ waiting: { reason: 'CreateContainerConfigError', message } }))).toBeUndefined();
  },
);

test('a pod that disappears fails its start', () => {
  expect(() => new StartJudge(SPEC, 0, progress()).judge(undefined, null)).toThrow('Its pod was deleted');
  expect(() => judge({ phase: 'Pending' }, { deletionTimestamp: '2026-01-01T00:00:00Z' })).toThrow(
    'Its pod was deleted',
  );
  const pod = podWith({ phase: 'Pending' });
  expect(() => new StartJudge(SPEC, 0, progress()).judge(pod, new Date())).toThrow('Node node1 was lost');
});

test('a node that was full after all means no capacity', () => {
  expect(() => judge({ phase: 'Failed', reason: 'OutOfcpu', message: 'full' })).toThrow(NoCapacity);
  expect(() => judge({ phase: 'Failed', reason: 'Evicted', message: 'full' })).not.toThrow(NoCapacity);
});

test('an unschedulable pod waits for the configured time, from the start each time', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const message = '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.';
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message } as const];
    const waiting = { ...podWith({ phase: 'Pending', conditions }), nodeName: null };
    const reported: string[] = [];
    const one = new StartJudge(SPEC, 1000, progress(), (missing) => reported.push(missing));
    expect(one.judge(waiting, null)).toBeUndefined();
    vi.advanceTimersByTime(999);
    expect(one.judge(waiting, null)).toBeUndefined();
    expect(one.judge(podWith({ phase: 'Pending' }), null)).toBeUndefined();
    expect(one.judge(waiting, null)).toBeUndefined();
    vi.advanceTimersByTime(1000);
    expect(() => one.judge(waiting, null)).toThrow(new NoCapacity(`No node fits: ${message}`));
    expect(reported).toEqual([`No node fits: ${message}`]);
  } finally {
    vi.useRealTimers();
  }
});

test('a start without progress fails with the last message, but a pull may take longer', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  try {
    const events = progress();
    const one = new StartJudge(SPEC, 1000, events);
    events.last = { reason: 'Pulling', message: 'Pulling image', at: performance.now() };
    vi.advanceTimersByTime(600_000);
    expect(one.judge(podWith({ phase: 'Pending' }), null)).toBeUndefined();
    events.last = { reason: 'FailedMount', message: 'no such export', at: performance.now() };
    vi.advanceTimersByTime(300_000);
    expect(() => one.judge(podWith({ phase: 'Pending' }), null)).toThrow('progress for 300 s: no such export');
    const nowhere = { ...podWith({ phase: 'Pending' }), nodeName: null };
    expect(() => one.judge(nowhere, null)).toThrow(new NoCapacity('Not scheduled for 300 s'));
  } finally {
    vi.useRealTimers();
  }
});

test('a pod that a scheduling gate holds waits with that reason, for as long as it takes', () => {
  const told: string[] = [];
  const held: Pod = {
    metadata: { name: 'podyard-w1', uid: 'u', resourceVersion: '1' },
    spec: { containers: [{ name: 'workload' }], schedulingGates: [{ name: 'kueue.x-k8s.io/admission' }] },
    status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
  };
  const old = { last: { reason: '', message: '', at: performance.now() - 3_600_000 }, end: () => {} };
  const patient = new StartJudge(SPEC, 0, old, (missing) => told.push(missing));
  for (let i = 0; i < 3; i++) expect(patient.judge(toPodRecord(held), null)).toBeUndefined();
  expect(told).toEqual(["Held by the cluster's queue (scheduling gate kueue.x-k8s.io/admission)"]);
  const released = { ...held, spec: { containers: [{ name: 'workload' }] }, status: { phase: 'Pending' as const } };
  expect(patient.judge(toPodRecord(released), null)).toBeUndefined(); // the time at the gate is not a stall
});
