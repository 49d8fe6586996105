import { Failure } from '../../../core/errors.ts';
import { pullFailure } from '../../../domain/images/pull-failure.ts';
import { NoCapacity, type StartOptions, type WorkloadSpec } from '../../runtime.ts';
import { endReason, lacksImage, startError } from './observed-pod.ts';
import { type PodProgress, progressLine } from './pod-events.ts';
import type { PodRecord } from './pod-record.ts';

const CONTAINER_PROBLEMS = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);
/**
 * The pod exists slightly before its environment, and a node that starts many pods does not read all Secrets within its own
 * timeout of one second. It retries by itself (kubernetes/kubernetes#117972).
 */
const SECRET_PENDING = /secret "[^"]*" not found|failed to sync secret cache/;
/** A node that rejects an assigned pod, e.g. because it was full after all. */
const REJECTED_BY_NODE = /^(OutOf|UnexpectedAdmissionError|NodeAffinity|Preempting)/;
const STALL_MS = 300_000;
/** There are no events while an image is pulled. */
const PULL_MS = 3_600_000;

/**
 * Judges a start: returns the pod once it runs or has run, undefined while it may still get there. Throws a sentence fit for
 * users when it never will, and `NoCapacity` when it found no place in time.
 */
export class StartJudge {
  readonly #spec: WorkloadSpec;
  readonly #pendingMs: number;
  readonly #progress: Pick<PodProgress, 'last'>;
  readonly #onWaiting: StartOptions['onWaiting'];
  #unschedulableSince: number | undefined;
  #missing = '';
  /** When it was last held by a gate, or got models, for however long: that is not a stall. */
  #heldUntil = Number.NEGATIVE_INFINITY;

  constructor(
    spec: WorkloadSpec,
    pendingMs: number,
    progress: Pick<PodProgress, 'last'>,
    onWaiting?: StartOptions['onWaiting'],
  ) {
    this.#spec = spec;
    this.#pendingMs = pendingMs;
    this.#progress = progress;
    this.#onWaiting = onWaiting;
  }

  judge(pod: PodRecord | undefined, lostSince: Date | null): PodRecord | undefined {
    if (!pod || pod.isDeleting) {
      throw new Failure('unavailable', `Its pod was deleted while it started${reasonOf(pod)}`);
    }
    if (lostSince !== null) throw new Failure('unavailable', `Node ${pod.nodeName} was lost while it started`);
    if (pod.ended) {
      const failure = startError(pod.ended);
      if (failure !== null) throw new Failure('unprocessable', failure);
      return pod;
    }
    if (pod.models?.ended && pod.models.ended.exitCode !== 0) {
      throw new Failure('unavailable', modelsFault(pod.models.ended));
    }
    if (pod.phase === 'Failed') throw rejection(pod);
    if (pod.phase === 'Succeeded' || (pod.runningSince && pod.address !== null)) return pod;
    if (pod.models?.waiting) this.#checkModels(pod.models.waiting);
    if (pod.models?.isRunning) this.#heldUntil = performance.now(); // it says itself when it gets no further
    if (pod.waiting) this.#checkContainer(pod.waiting);
    this.#checkTime(pod);
    return undefined;
  }

  #checkContainer({ reason, message }: { reason: string; message: string }): void {
    if (lacksImage(reason)) {
      const words = `${reason}: ${message} ${this.#progress.last.message}`;
      throw pullFailure(this.#spec.image, words, this.#spec.registry?.auth);
    }
    if (!CONTAINER_PROBLEMS.has(reason) || SECRET_PENDING.test(message)) return;
    const failure = startError({ reason: 'StartError', message: message || reason })!;
    throw new Failure('unprocessable', failure);
  }

  #checkModels({ reason, message }: { reason: string; message: string }): void {
    if (lacksImage(reason)) {
      const words = `${reason}: ${message} ${this.#progress.last.message}`.trim();
      throw new Failure('unavailable', `the image that copies models to the node cannot be pulled: ${words}`);
    }
    if (!CONTAINER_PROBLEMS.has(reason) || SECRET_PENDING.test(message)) return;
    throw new Failure('unavailable', `its models cannot be copied to the node: ${message || reason}`);
  }

  #reportWaiting(missing: string): void {
    if (missing !== this.#missing) this.#onWaiting?.(missing);
    this.#missing = missing;
  }

  #checkTime(pod: PodRecord): void {
    const now = performance.now();
    if (pod.gates.length > 0 && pod.nodeName === null) {
      this.#reportWaiting(`Held by the cluster's queue (scheduling gate ${pod.gates.join(', ')})`);
      this.#heldUntil = now;
      this.#unschedulableSince = undefined;
      return;
    }
    if (pod.unschedulable !== null && pod.nodeName === null) {
      this.#unschedulableSince ??= now;
      const missing = `No node fits: ${pod.unschedulable}`;
      this.#reportWaiting(missing);
      if (now - this.#unschedulableSince >= this.#pendingMs) throw new NoCapacity(missing);
      return;
    }
    this.#unschedulableSince = undefined;
    const { reason, message, at } = this.#progress.last;
    if (now - Math.max(at, this.#heldUntil) < (reason === 'Pulling' ? PULL_MS : STALL_MS)) return;
    const seconds = Math.round((now - at) / 1000);
    if (pod.nodeName === null) throw new NoCapacity(`Not scheduled for ${seconds} s`);
    throw new Failure('unavailable', `No progress for ${seconds} s: ${progressLine(reason, message) || 'no message'}`);
  }
}

/** Its last line is a sentence; the cluster's own reasons are words, as OOMKilled. */
function modelsFault({ exitCode, message }: { exitCode: number; message: string }): string {
  const sentence = /^podyard: (.+)$/.exec(message.trim().split('\n').at(-1) ?? '')?.[1];
  return (
    sentence ?? `its models could not be copied to the node: ${message.trim() || 'no reason'} (status ${exitCode})`
  );
}

function rejection(pod: PodRecord): Error {
  const reason = endReason(pod) ?? 'Ended by the cluster';
  return REJECTED_BY_NODE.test(pod.reason ?? '') ? new NoCapacity(reason) : new Failure('unavailable', reason);
}

function reasonOf(pod: PodRecord | undefined): string {
  const reason = pod && endReason(pod);
  return reason ? `: ${reason}` : '';
}
