import { Failure } from '../core/errors.ts';
import type { UserId } from '../core/ids.ts';
import { ByteBudget, type ByteReservation } from '../http/floods/byte-budget.ts';

/**
 * Memory that a body takes until its job or result is committed, in multiples of its size: its bytes, its text, what
 * parsing leaves until the next garbage collection, and its copies on the way to the database.
 */
const COST = 4;

/** Bodies up to this size have a share of the budget to themselves, so that they never wait for large ones. */
export const SMALL_BYTES = 64 * 1024;
const SMALL_SHARE = 1 / 8;

/** A waiting request holds up to 64 KiB that were read with its head. */
const MAX_WAITING = 1_000;

/** The memory that all request bodies of this process may take together, shared fairly between users. */
export class BodyBudget {
  readonly #small: ByteBudget;
  readonly #large: ByteBudget;

  /** `waitMs`: how long a body may wait for room. */
  constructor(limitBytes: number, waitMs: number) {
    const shared = { maxWaiting: MAX_WAITING, timeoutMs: waitMs, refusal };
    this.#small = new ByteBudget({ ...shared, limitBytes: limitBytes * SMALL_SHARE });
    this.#large = new ByteBudget({ ...shared, limitBytes: limitBytes * (1 - SMALL_SHARE) });
  }

  /** Reserves at once; undefined when the body has to wait. */
  tryReserve(bytes: number, userId?: UserId): ByteReservation | undefined {
    return this.#of(bytes).tryReserve(bytes * COST, userId);
  }

  /** Waits for room; rejects with `unavailable`. */
  reserve(bytes: number, userId?: UserId): ReturnType<ByteBudget['reserve']> {
    return this.#of(bytes).reserve(bytes * COST, userId);
  }

  /** Refuses all that wait, when the process stops. */
  dismissAll(): void {
    this.#small.dismissAll();
    this.#large.dismissAll();
  }

  /** Gives back what was reserved for more than `bytes`, the real size of a body. */
  correct(reservation: ByteReservation, bytes: number): void {
    reservation.shrinkTo(bytes * COST);
  }

  #of(bytes: number): ByteBudget {
    return bytes <= SMALL_BYTES ? this.#small : this.#large;
  }
}

function refusal(): Failure {
  return new Failure('unavailable', 'the server is handling as many request bodies as it has memory for; try again', {
    retryAfterSeconds: 5,
  });
}

/** For a body that is cut while it arrives, because another user waits for the memory that it holds. */
export function yieldedBody(): Failure {
  const detail = 'the request body arrived slowly while other users waited for the memory that it took; try again';
  return new Failure('unavailable', detail, { retryAfterSeconds: 5 });
}
