import { BoundedMap } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';

/** Unknown keys that one network may try in a second. */
const MAX_FAILED = 20;
/** Look-ups of one network at once: after a restart, the keys of an office are all new to a process. */
const MAX_PENDING = 100;
const WINDOW_MS = 1_000;
const MAX_NETWORKS = 10_000;

interface Guesses {
  windowEndsMs: number;
  failed: number;
  pending: number;
}

/** Bounds the look-ups of keys that nobody has, by the network that sends them. */
export class GuessLimiter {
  readonly #monotonic: Clock;
  readonly #byNetwork = new BoundedMap<string, Guesses>(MAX_NETWORKS);

  constructor(monotonic: Clock) {
    this.#monotonic = monotonic;
  }

  /** Counts a look-up that begins; call the result when it ended. Throws `tooManyRequests`. */
  begin(network: string): (isRefused: boolean) => void {
    const guesses = this.#find(network);
    if (guesses.failed >= MAX_FAILED || guesses.pending >= MAX_PENDING) {
      throw new Failure('tooManyRequests', 'too many invalid keys from this address', { retryAfterSeconds: 1 });
    }
    guesses.pending += 1;
    return (isRefused) => {
      guesses.pending -= 1;
      if (isRefused) guesses.failed += 1;
    };
  }

  #find(network: string): Guesses {
    const now = this.#monotonic.now();
    let guesses = this.#byNetwork.get(network);
    if (!guesses) {
      guesses = { windowEndsMs: now + WINDOW_MS, failed: 0, pending: 0 };
      this.#byNetwork.set(network, guesses);
    } else if (guesses.windowEndsMs <= now) {
      guesses.windowEndsMs = now + WINDOW_MS;
      guesses.failed = 0;
    }
    return guesses;
  }
}
