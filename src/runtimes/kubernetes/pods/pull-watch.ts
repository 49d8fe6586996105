import type { StartOptions } from '../../runtime.ts';
import type { PodProgress } from './pod-events.ts';

const SAY_EVERY_MS = 2_000;

/** Reports how long a node has been pulling the image of a starting pod: a kubelet has no other progress. */
export class PullWatch {
  readonly #progress: Pick<PodProgress, 'last'>;
  readonly #image: string;
  readonly #say: NonNullable<StartOptions['onBringing']>;
  /** Null: nothing was reported, or that the pull continues. */
  #saidAt: number | null = null;

  constructor(progress: Pick<PodProgress, 'last'>, image: string, onBringing: StartOptions['onBringing']) {
    this.#progress = progress;
    this.#image = image;
    this.#say = onBringing ?? (() => {});
  }

  /** Call it about once a second. */
  look(now = performance.now()): void {
    const { reason, message, at } = this.#progress.last;
    const isPulling = reason === 'Pulling' && message.includes(`"${this.#image}"`);
    if (!isPulling && this.#saidAt !== null) {
      this.#saidAt = null;
      this.#say(null);
    }
    if (!isPulling || now - (this.#saidAt ?? at) < SAY_EVERY_MS) return;
    this.#saidAt = now;
    this.#say(`pulling image ${this.#image} for ${Math.round((now - at) / 1000)} s`);
  }
}
