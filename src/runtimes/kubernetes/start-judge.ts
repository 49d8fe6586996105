import { Failure } from '../../core/errors.ts';
import { NoCapacity, type StartOptions, type WorkloadSpec } from '../runtime.ts';
import { endReason, lacksImage, startError } from './observed-pod.ts';
import type { PodStory } from './pod-events.ts';
import type { PodRecord } from './pod-record.ts';

const CONTAINER_PROBLEMS = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);
/**
 * The pod is there a moment before its environment, and a node that starts many at once does not read all of them within the
 * second that it gives itself. It tries again by itself (kubernetes/kubernetes#117972).
 */
const SECRET_IS_COMING = /secret "[^"]*" not found|failed to sync secret cache/;
/** A node that refuses a pod it was given: it was full after all. */
const REFUSED_BY_NODE = /^(OutOf|UnexpectedAdmissionError|NodeAffinity|Preempting)/;
const NO_PROGRESS_MS = 300_000;
/** Nothing is told while an image is pulled. */
const PULL_MS = 3_600_000;

/**
 * Judges a start: the pod when it runs, or has run; undefined while it may yet. Throws a sentence fit for users when
 * it never will, and `NoCapacity` when it found no place for too long.
 */
export class StartJudge {
  readonly #spec: WorkloadSpec;
  readonly #pendingMs: number;
  readonly #story: PodStory;
  readonly #onWaiting: StartOptions['onWaiting'];
  #unschedulableSince: number | undefined;
  #missing = '';

  constructor(spec: WorkloadSpec, pendingMs: number, story: PodStory, onWaiting?: StartOptions['onWaiting']) {
    this.#spec = spec;
    this.#pendingMs = pendingMs;
    this.#story = story;
    this.#onWaiting = onWaiting;
  }

  judge(pod: PodRecord | undefined, lostSince: Date | null): PodRecord | undefined {
    if (!pod || pod.isDeleting) {
      throw new Failure('unavailable', `Somebody deleted its pod while it started${reasonOf(pod)}`);
    }
    if (lostSince !== null) throw new Failure('unavailable', `Its node ${pod.nodeName} was lost while it started`);
    if (pod.ended) {
      const failure = startError(pod.ended);
      if (failure !== null) throw new Failure('unprocessable', failure);
      return pod;
    }
    if (pod.phase === 'Failed') throw this.#refused(pod);
    if (pod.phase === 'Succeeded' || (pod.runningSince && pod.address !== null)) return pod;
    if (pod.waiting) this.#lookAtContainer(pod.waiting);
    this.#lookAtTime(pod);
    return undefined;
  }

  #refused(pod: PodRecord): Error {
    const reason = endReason(pod) ?? 'The cluster ended it';
    return REFUSED_BY_NODE.test(pod.reason ?? '') ? new NoCapacity(reason) : new Failure('unavailable', reason);
  }

  #lookAtContainer({ reason, message }: { reason: string; message: string }): void {
    if (lacksImage(reason)) {
      const why = this.#withoutCredentials(message || this.#story.last.message);
      throw new Failure('unprocessable', `Image '${this.#spec.image}' cannot be had: ${why || reason}`);
    }
    if (!CONTAINER_PROBLEMS.has(reason) || SECRET_IS_COMING.test(message)) return;
    const failure = startError({ reason: 'StartError', message: message || reason })!;
    throw new Failure('unprocessable', failure);
  }

  #lookAtTime(pod: PodRecord): void {
    const now = performance.now();
    if (pod.unschedulable !== null && pod.nodeName === null) {
      this.#unschedulableSince ??= now;
      const missing = `No node of the cluster has room: ${pod.unschedulable}`;
      if (missing !== this.#missing) this.#onWaiting?.(missing);
      this.#missing = missing;
      if (now - this.#unschedulableSince >= this.#pendingMs) {
        throw new NoCapacity(missing);
      }
      return;
    }
    this.#unschedulableSince = undefined;
    const { reason, message, at } = this.#story.last;
    if (now - at < (reason === 'Pulling' ? PULL_MS : NO_PROGRESS_MS)) return;
    const seconds = Math.round((now - at) / 1000);
    if (pod.nodeName === null) throw new NoCapacity(`The cluster has given it no node for ${seconds} s`);
    throw new Failure('unavailable', `It did not get any further for ${seconds} s: ${message || 'nothing was said'}`);
  }

  /** No registry should repeat them, but who knows what stands in front of one. */
  #withoutCredentials(text: string): string {
    const { password } = this.#spec.registry?.auth ?? { password: '' };
    return password === '' ? text : text.replaceAll(password, '…');
  }
}

function reasonOf(pod: PodRecord | undefined): string {
  const reason = pod && endReason(pod);
  return reason ? `: ${reason}` : '';
}
