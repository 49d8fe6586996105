import { Failure } from '../../core/errors.ts';
import { FairSlots } from '../../core/flow/fair-slots.ts';
import { HASH_COST, hashPassword, verifyPassword } from '../../domain/local-accounts/password-hash.ts';

/** Each takes a thread of Node's pool for some 30 ms, and 19 MiB: the others are for files and names. */
const AT_ONCE = 2;
const MAX_WAITING = 100;

/** Hashes and checks passwords, a few at a time: addresses take turns, so that a flood from one does not delay the others. */
export class PasswordHasher {
  readonly #slots = new FairSlots({ slots: AT_ONCE, perOwner: 1 });
  readonly #cost: typeof HASH_COST;
  #waiting = 0;

  constructor(cost = HASH_COST) {
    this.#cost = cost;
  }

  /** `from`: the network that asks. */
  hash(from: string, password: string): Promise<string> {
    return this.#run(from, () => hashPassword(password, this.#cost));
  }

  /** `stored`: null if there is no such account, which takes as long. */
  verify(from: string, password: string, stored: string | null): Promise<boolean> {
    return this.#run(from, () => verifyPassword(password, stored, this.#cost));
  }

  async #run<T>(from: string, work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING) {
      throw new Failure('tooManyRequests', 'too many people sign in at this moment: try again', {
        retryAfterSeconds: 5,
      });
    }
    this.#waiting += 1;
    try {
      return await this.#slots.run(from, work);
    } finally {
      this.#waiting -= 1;
    }
  }
}
