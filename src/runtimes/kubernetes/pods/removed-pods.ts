import { BoundedMap } from '../../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../../core/clock.ts';
import type { Observed } from '../../runtime.ts';
import { observe } from './observed-pod.ts';
import type { PodRecord } from './pod-record.ts';

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
