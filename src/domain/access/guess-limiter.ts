import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';

/** Unknown keys that one network may try in a second. */
const MAX_FAILED = 20;
/** Look-ups of one network at once; further ones wait: after a restart, the keys of an office are all new to a process. */
const MAX_PENDING = 100;
const MAX_WAITING = 1_000;
const WINDOW_MS = 1_000;
const MAX_NETWORKS = 10_000;

/** Ends a look-up. */
type End = (isRefused: boolean) => void;

interface Guesses {
  windowEndsMs: number;
  failed: number;
  pending: number;
  waiting: { begin: (end: End) => void; refuse: (error: Failure) => void }[];
}

/**
 * Bounds look-ups of unknown secrets per network. While more networks guess than are tracked, the others count as one: a client with many
 * networks gains nothing, and evicts no other network's count.
 */
export class GuessLimiter {
  readonly #monotonic: Clock;
  /** In the order in which their windows end. */
  readonly #byNetwork = new Map<string, Guesses>();
  readonly #others = noGuesses();

  constructor(monotonic: Clock) {
    this.#monotonic = monotonic;
  }

  /**
   * Counts a look-up that begins; call the result when it ended. While many of the network are in progress it waits, until they
   * end or too many of them found nothing. Throws or rejects with `tooManyRequests`.
   */
  begin(network: string): End | Promise<End> {
    const guesses = this.#find(network);
    if (guesses.failed >= MAX_FAILED || guesses.waiting.length >= MAX_WAITING) throw tooMany();
    if (guesses.pending < MAX_PENDING) return this.#count(guesses);
    return new Promise((begin, refuse) => guesses.waiting.push({ begin, refuse }));
  }

  #count(guesses: Guesses): End {
    guesses.pending += 1;
    return (isRefused) => {
      guesses.pending -= 1;
      renew(guesses, this.#monotonic.now());
      if (isRefused) guesses.failed += 1;
      if (guesses.failed >= MAX_FAILED) for (const { refuse } of guesses.waiting.splice(0)) refuse(tooMany());
      else guesses.waiting.shift()?.begin(this.#count(guesses));
    };
  }

  #find(network: string): Guesses {
    const now = this.#monotonic.now();
    const known = this.#byNetwork.get(network);
    if (known && known.windowEndsMs > now) return known;
    if (!known && this.#byNetwork.size >= MAX_NETWORKS && !this.#forgetOldest(now)) return renew(this.#others, now);
    const guesses = known ?? noGuesses();
    this.#byNetwork.delete(network);
    this.#byNetwork.set(network, renew(guesses, now));
    return guesses;
  }

  /** False if the oldest is still needed. */
  #forgetOldest(now: number): boolean {
    const [[network, { windowEndsMs, pending }]] = this.#byNetwork as unknown as [[string, Guesses]];
    if (windowEndsMs > now || pending > 0) return false;
    return this.#byNetwork.delete(network);
  }
}

function noGuesses(): Guesses {
  return { windowEndsMs: 0, failed: 0, pending: 0, waiting: [] };
}

function tooMany(): Failure {
  return new Failure('tooManyRequests', 'too many invalid keys from this address', { retryAfterSeconds: 1 });
}

function renew(guesses: Guesses, now: number): Guesses {
  if (guesses.windowEndsMs > now) return guesses;
  return Object.assign(guesses, { windowEndsMs: now + WINDOW_MS, failed: 0 });
}
