import { BoundedMap } from '../../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import type { Observed, ObservedState } from '../../runtime.ts';
import type { PodRecord } from './pod-record.ts';

/** `lostSince`: since when the pod's node is lost; null when it is not. */
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
      reason: isLost ? `Node ${pod.nodeName} was lost` : endReason(pod),
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

/** The cluster's reasons for an end. A program that ends by itself has none of these. */
const REASONS: Record<string, (message: string) => string> = {
  Evicted: (message) => `Evicted: ${message}`,
  Preempting: (message) => `Preempted: ${message}`,
  PreemptionByScheduler: () => 'Preempted by a pod of higher priority',
  PreemptionByKubeScheduler: () => 'Preempted by a pod of higher priority',
  DeletionByTaintManager: () => 'Evicted by a taint of its node',
  EvictionByEvictionAPI: () => 'Evicted: its node is being drained',
  DeletionByPodGC: () => 'Node was lost',
  TerminationByKubelet: (message) => `Ended by the node: ${message}`,
  DeadlineExceeded: () => 'Exceeded the cluster’s deadline',
  NodeLost: () => 'Node was lost',
  NodeShutdown: () => 'Node shut down',
  Terminated: () => 'Node shut down',
  Shutdown: () => 'Node shut down',
  NodeAffinity: (message) => `Rejected by the node: ${message}`,
  UnexpectedAdmissionError: (message) => `Rejected by the node: ${message}`,
  OutOfpods: (message) => `Rejected by the node: ${message}`,
  OutOfcpu: (message) => `Rejected by the node: ${message}`,
  OutOfmemory: (message) => `Rejected by the node: ${message}`,
};

/** Returns one sentence about an end that was not the program's own; null otherwise. */
export function endReason(pod: PodRecord): string | null {
  const { ended } = pod;
  if (ended?.reason === 'OOMKilled') return outOfMemory(pod);
  const word = pod.reason ?? pod.disruption?.reason;
  if (word) {
    const message = (pod.reason === null ? pod.disruption?.message : pod.message) ?? '';
    return REASONS[word]?.(message.trim()) ?? `Ended by the cluster: ${word} ${message.trim()}`.trim();
  }
  if (ended === null) return pod.phase === 'Failed' ? 'Ended by the cluster without a reason' : null;
  if (ended.reason === '' || ended.reason === 'Completed' || ended.reason === 'Error') return null;
  return startError(ended) ?? `Ended by the cluster: ${ended.reason} ${ended.message}`.trim();
}

function outOfMemory({ memoryBytes }: PodRecord): string {
  const limit = memoryBytes === null ? '' : ` (limit ${Math.round(memoryBytes / 2 ** 20)} MiB)`;
  return `Out of memory${limit}`;
}

const NEVER_RAN = ['StartError', 'ContainerCannotRun', 'RunContainerError'];

/** Returns a sentence when the program itself could not be started; null otherwise. */
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

/** True when a container waiting for this reason never ran because its image cannot be pulled. */
export function lacksImage(reason: string | undefined): boolean {
  return reason !== undefined && IMAGE_PROBLEMS.has(reason);
}

/** How long the end of a removed pod is listed. */
const LISTED_MS = 600_000;
const MAX_LISTED = 1_000;

/**
 * Workloads whose pods the cluster removed (preempted, evicted), as they ended. Nothing else would show why they ended, so
 * they are listed until they are stopped, for at most ten minutes.
 */
export class RemovedPods {
  readonly #ended = new BoundedMap<string, { observed: Observed; at: number }>(MAX_LISTED);
  readonly #clock: Clock;

  constructor(clock: Clock = monotonicClock) {
    this.#clock = clock;
  }

  add(pod: PodRecord): void {
    const ended = { ...pod, phase: 'Failed', finishedAt: pod.finishedAt ?? new Date() };
    this.#ended.set(pod.id, { observed: observe(ended, null, () => []), at: this.#clock.now() });
  }

  forget(id: string): void {
    this.#ended.delete(id);
  }

  /** Returns those that are recent and whose id has no pod again. */
  list(hasPod: (id: string) => boolean): Observed[] {
    for (const [id, { at }] of this.#ended) {
      if (this.#clock.now() - at > LISTED_MS || hasPod(id)) this.#ended.delete(id);
    }
    return [...this.#ended.values()].map(({ observed }) => observed);
  }
}
