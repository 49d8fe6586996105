import { BoundedMap } from '../../core/bounded-map.ts';
import type { Clock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import type { UserId } from '../../core/ids.ts';

/** Requests of one user at once: twenty workers that fetch eight files each, and more. */
const MAX_RUNNING = 256;
/** Requests of one user a second, and how many may come at once after a pause: a large model has thousands of files. */
const PER_SECOND = 200;
const BURST = 4_000;
const MAX_USERS = 10_000;

/** Bounds the requests of each user to the hub. */
export class HubTraffic {
  readonly #monotonic: Clock;
  readonly #users = new BoundedMap<UserId, { running: number; left: number; atMs: number }>(MAX_USERS);

  constructor(monotonic: Clock) {
    this.#monotonic = monotonic;
  }

  /** Returns the function that ends the request. Throws `tooManyRequests`. */
  enter(userId: UserId): () => void {
    const now = this.#monotonic.now();
    const user = this.#users.get(userId) ?? { running: 0, left: BURST, atMs: now };
    this.#users.set(userId, user);
    user.left = Math.min(BURST, user.left + ((now - user.atMs) * PER_SECOND) / 1_000);
    user.atMs = now;
    if (user.running >= MAX_RUNNING) throw tooMany(`${MAX_RUNNING} requests of this user run already`);
    if (user.left < 1) throw tooMany(`more than ${PER_SECOND} requests a second`);
    user.left -= 1;
    user.running += 1;
    return () => {
      user.running -= 1;
    };
  }
}

function tooMany(what: string): Failure {
  return new Failure('tooManyRequests', `too many requests to the hub of this machine: ${what}`, {
    retryAfterSeconds: 1,
  });
}
