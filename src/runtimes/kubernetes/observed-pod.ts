import type { Observed, ObservedState } from '../runtime.ts';
import type { PodRecord } from './pod-record.ts';

/** `lostSince`: since when nothing is heard of its node; null when its node is fine. */
export function stateOf(pod: PodRecord, lostSince: Date | null): ObservedState {
  if (lostSince !== null || isEnded(pod)) return 'exited';
  if (pod.runningSince === null) return 'created';
  return pod.isParked ? 'frozen' : 'running';
}

export function isEnded(pod: PodRecord): boolean {
  return pod.ended !== null || pod.phase === 'Succeeded' || pod.phase === 'Failed';
}

export function observe(
  pod: PodRecord,
  lostSince: Date | null,
  publishedPorts: () => Observed['publishedPorts'],
): Observed {
  const { id, kind, ended } = pod;
  const state = stateOf(pod, lostSince);
  if (state === 'exited') {
    const isLost = lostSince !== null && !isEnded(pod);
    return {
      id,
      kind,
      state,
      address: null,
      publishedPorts: [],
      exitCode: isLost ? null : (ended?.exitCode ?? null),
      reason: isLost ? `Its node ${pod.nodeName} was lost` : endReason(pod),
      startedAt: ended?.startedAt ?? pod.runningSince,
      finishedAt: isLost ? lostSince : (ended?.finishedAt ?? pod.finishedAt),
    };
  }
  const isUp = state !== 'created';
  return {
    id,
    kind,
    state,
    address: isUp ? pod.address : null,
    publishedPorts: isUp ? publishedPorts() : [],
    exitCode: null,
    reason: null,
    startedAt: pod.runningSince,
    finishedAt: null,
  };
}

/** What the cluster's words for an end mean; a program that ends by itself has no such word. */
const REASONS: Record<string, (message: string) => string> = {
  Evicted: (message) => `It was evicted from its node: ${message}`,
  Preempting: (message) => `It was preempted: ${message}`,
  PreemptionByScheduler: () => 'It was preempted: its place was needed for something of higher priority',
  PreemptionByKubeScheduler: () => 'It was preempted: its place was needed for something of higher priority',
  DeletionByTaintManager: () => 'Its node does not let it stay any more',
  EvictionByEvictionAPI: () => 'It was evicted: somebody empties its node',
  DeletionByPodGC: () => 'Its node was lost',
  TerminationByKubelet: (message) => `Its node ended it: ${message}`,
  DeadlineExceeded: () => 'It ran longer than the cluster lets it',
  NodeLost: () => 'Its node was lost',
  NodeShutdown: () => 'Its node shuts down',
  Terminated: () => 'Its node shuts down',
  Shutdown: () => 'Its node shuts down',
  NodeAffinity: (message) => `Its node refused it: ${message}`,
  UnexpectedAdmissionError: (message) => `Its node refused it: ${message}`,
  OutOfpods: (message) => `Its node refused it: ${message}`,
  OutOfcpu: (message) => `Its node refused it: ${message}`,
  OutOfmemory: (message) => `Its node refused it: ${message}`,
};

/** One sentence about an end that was not the program's own; null otherwise. */
export function endReason(pod: PodRecord): string | null {
  const { ended } = pod;
  if (ended?.reason === 'OOMKilled') return outOfMemory(pod);
  const word = pod.reason ?? pod.disruption?.reason;
  if (word) {
    const message = (pod.reason === null ? pod.disruption?.message : pod.message) ?? '';
    return REASONS[word]?.(message.trim()) ?? `The cluster ended it: ${word} ${message.trim()}`.trim();
  }
  if (ended === null) return pod.phase === 'Failed' ? 'The cluster ended it without a word' : null;
  if (ended.reason === '' || ended.reason === 'Completed' || ended.reason === 'Error') return null;
  return startError(ended) ?? `The cluster ended it: ${ended.reason} ${ended.message}`.trim();
}

function outOfMemory({ memoryBytes }: PodRecord): string {
  const limit = memoryBytes === null ? '' : ` of ${Math.round(memoryBytes / 2 ** 20)} MiB`;
  return `It ran out of memory: it needed more than its limit${limit}`;
}

const NEVER_RAN = ['StartError', 'ContainerCannotRun', 'RunContainerError'];

/** Null unless the program itself could not be started. */
export function startError({ reason, message }: { reason: string; message: string }): string | null {
  if (!NEVER_RAN.includes(reason)) return null;
  const words = message.replace(/^.*unable to start container process: /s, '').replace(/: unknown$/, '');
  return `The container could not be started: ${words}`;
}

const IMAGE_PROBLEMS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]);

/** Whether a container that waits for this reason has never run, because its image cannot be had. */
export function lacksImage(reason: string | undefined): boolean {
  return reason !== undefined && IMAGE_PROBLEMS.has(reason);
}
