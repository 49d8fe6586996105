import { type Clock, monotonicClock } from '../../core/clock.ts';
import type { Failure } from '../../core/errors.ts';
import { Roster } from '../../core/roster.ts';

/** After a second without room, a waiter makes others yield; only what has been arriving for a while yields. */
const YIELD_AFTER_MS = 1_000;
const SLOW_AFTER_MS = 2_000;
const DEFAULT_OWNER = '';

interface Waiter {
  owner: string;
  bytes: number;
  sinceMs: number;
  grant: (reservation: ByteReservation) => void;
  refuse: (error: unknown) => void;
}

interface Ledger {
  giveBack: (reservation: ByteReservation, bytes: number, isAll: boolean) => void;
}

/** Bytes taken from a budget. They return to it once, however often `release` is called. */
export class ByteReservation {
  readonly owner: string;
  readonly sinceMs: number;
  /**
   * Set while what needs the bytes depends on a peer that may be slow: called when others have waited too long. Gives up
   * the work, and releases the reservation soon.
   */
  onYield: (() => void) | null = null;
  place = -1;
  readonly #ledger: Ledger;
  #bytes: number;
  #kept: Promise<unknown> | undefined;

  constructor(from: { owner: string; bytes: number; sinceMs: number }, ledger: Ledger) {
    this.owner = from.owner;
    this.sinceMs = from.sinceMs;
    this.#bytes = from.bytes;
    this.#ledger = ledger;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Gives back what is beyond `bytes`; never takes more. */
  shrinkTo(bytes: number): void {
    if (bytes >= this.#bytes) return;
    const excess = this.#bytes - bytes;
    this.#bytes = bytes;
    this.#ledger.giveBack(this, excess, bytes === 0);
  }

  /** Postpones the release until `work` has settled, since it holds the bytes even if its caller no longer waits. */
  keepFor(work: Promise<unknown>): void {
    this.#kept = Promise.allSettled([this.#kept, work]);
  }

  release(): void {
    if (this.#kept) void this.#kept.then(() => this.shrinkTo(0));
    else this.shrinkTo(0);
  }
}

/**
 * Bounds the bytes that are in memory at once, and shares them between owners:
 *
 * - What does not fit waits. The owners take turns; the reservations of one are granted in FIFO order. Nothing passes the
 *   one whose turn it is, so that a large reservation is never starved by small ones, unless its owner has a fair share
 *   already. One that exceeds the whole budget is granted once nothing else is reserved.
 * - When as many wait as may, the owner with the most loses its latest waiter to an owner with fewer.
 * - When an owner with less than its share has waited for a second, owners with more yield what depends on a slow peer.
 */
export class ByteBudget {
  readonly #limitBytes: number;
  readonly #maxWaiting: number;
  readonly #timeoutMs: number;
  readonly #refusal: () => Failure;
  readonly #clock: Clock;
  /** In the order in which the owners take turns. Never an empty list. */
  readonly #queues = new Map<string, Waiter[]>();
  readonly #held = new Roster<ByteReservation>();
  /** Bytes of each owner that has some. */
  readonly #usedBy = new Map<string, number>();
  readonly #ledger: Ledger = { giveBack: (...given) => this.#takeBack(...given) };
  #usedBytes = 0;
  #waiting = 0;
  /** When one that had waited was last granted. */
  #movedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  /**
   * `maxWaiting`: how many may wait; more are refused at once. `timeoutMs`: how long each may wait while none is granted: as
   * long as the line moves, everybody's turn comes. `refusal`: what both are refused with.
   */
  constructor(options: {
    limitBytes: number;
    maxWaiting: number;
    timeoutMs: number;
    refusal: () => Failure;
    clock?: Clock;
  }) {
    this.#limitBytes = options.limitBytes;
    this.#maxWaiting = options.maxWaiting;
    this.#timeoutMs = options.timeoutMs;
    this.#refusal = options.refusal;
    this.#clock = options.clock ?? monotonicClock;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Reserves at once; undefined when there is no room or others wait. */
  tryReserve(bytes: number, owner = DEFAULT_OWNER): ByteReservation | undefined {
    return this.#waiting === 0 && this.#fits(bytes) ? this.#take(owner, bytes) : undefined;
  }

  /** Waits for room; rejects with the refusal. `cancel` ends a wait that is no longer needed in the same way. */
  reserve(bytes: number, owner = DEFAULT_OWNER): { granted: Promise<ByteReservation>; cancel: () => void } {
    const ready = this.tryReserve(bytes, owner);
    if (ready) return { granted: Promise.resolve(ready), cancel: () => {} };
    if (this.#waiting >= this.#maxWaiting && !this.#dropForOwner(owner)) {
      return { granted: Promise.reject(this.#refusal()), cancel: () => {} };
    }
    const { promise, resolve, reject } = Promise.withResolvers<ByteReservation>();
    const waiter = { owner, bytes, sinceMs: this.#clock.now(), grant: resolve, refuse: reject };
    const queue = this.#queues.get(owner);
    if (queue) queue.push(waiter);
    else this.#queues.set(owner, [waiter]);
    this.#waiting += 1;
    this.#grantWaiting();
    this.#armTimer();
    return { granted: promise, cancel: () => this.#withdraw(waiter) };
  }

  /** Refuses all that wait. */
  dismissAll(): void {
    const waiters = [...this.#queues.values()].flat();
    for (const waiter of waiters) if (this.#remove(waiter)) waiter.refuse(this.#refusal());
  }

  #fits(bytes: number): boolean {
    return this.#usedBytes === 0 || this.#usedBytes + bytes <= this.#limitBytes;
  }

  #take(owner: string, bytes: number): ByteReservation {
    this.#addUse(owner, bytes);
    const reservation = new ByteReservation({ owner, bytes, sinceMs: this.#clock.now() }, this.#ledger);
    this.#held.add(reservation);
    return reservation;
  }

  #takeBack(reservation: ByteReservation, bytes: number, isAll: boolean): void {
    this.#addUse(reservation.owner, -bytes);
    if (isAll) this.#held.delete(reservation);
    if (this.#waiting > 0) this.#grantWaiting();
  }

  #addUse(owner: string, bytes: number): void {
    this.#usedBytes += bytes;
    const used = (this.#usedBy.get(owner) ?? 0) + bytes;
    if (used === 0) this.#usedBy.delete(owner);
    else this.#usedBy.set(owner, used);
  }

  #grantWaiting(): void {
    for (const [owner, queue] of this.#queues) {
      const waiter = queue[0]!;
      if (!this.#fits(waiter.bytes)) {
        if ((this.#usedBy.get(owner) ?? 0) >= this.#shareBytes()) continue;
        return;
      }
      this.#remove(waiter);
      const rest = this.#queues.get(owner);
      if (rest) {
        this.#queues.delete(owner); // its next turn comes after those of the others
        this.#queues.set(owner, rest);
      }
      this.#movedAt = this.#clock.now();
      waiter.grant(this.#take(owner, waiter.bytes));
    }
  }

  /** Refuses the latest waiter of the owner with the most. False if that is `owner`. */
  #dropForOwner(owner: string): boolean {
    const most = [...this.#queues.values()].reduce((one, other) => (other.length > one.length ? other : one), []);
    if (most.length <= (this.#queues.get(owner)?.length ?? 0) + 1) return false;
    this.#withdraw(most.at(-1)!);
    return true;
  }

  #withdraw(waiter: Waiter): void {
    if (!this.#remove(waiter)) return;
    waiter.refuse(this.#refusal());
    this.#grantWaiting(); // it may have been the one that did not fit
  }

  #remove(waiter: Waiter): boolean {
    const queue = this.#queues.get(waiter.owner);
    const at = queue?.indexOf(waiter) ?? -1;
    if (at < 0) return false;
    queue!.splice(at, 1);
    if (queue!.length === 0) this.#queues.delete(waiter.owner);
    this.#waiting -= 1;
    return true;
  }

  /** One timer, for the first that is overdue, or that makes others yield. */
  #armTimer(): void {
    if (this.#timer !== undefined || this.#waiting === 0) return;
    const firstSinceMs = Math.min(...[...this.#queues.values()].map((queue) => queue[0]!.sinceMs));
    const remainingMs = Math.max(firstSinceMs, this.#movedAt) + this.#timeoutMs - this.#clock.now();
    const delayMs = Math.max(1, Math.min(remainingMs, YIELD_AFTER_MS));
    this.#timer = setTimeout(() => this.#onTimer(), delayMs).unref();
  }

  #onTimer(): void {
    this.#timer = undefined;
    const latestMs = this.#clock.now() - this.#timeoutMs;
    for (const queue of [...this.#queues.values()]) {
      for (const waiter of [...queue]) {
        if (Math.max(waiter.sinceMs, this.#movedAt) > latestMs) break;
        this.#withdraw(waiter);
      }
    }
    this.#makeRoom();
    this.#armTimer();
  }

  /** Lets owners above their share yield until the next waiter of an owner below it fits. */
  #makeRoom(): void {
    const now = this.#clock.now();
    const used = new Map(this.#usedBy);
    const shareBytes = this.#shareBytes();
    const waiter = [...this.#queues.values()]
      .map((queue) => queue[0]!)
      .find(({ owner, sinceMs }) => (used.get(owner) ?? 0) < shareBytes && now - sinceMs >= YIELD_AFTER_MS);
    if (!waiter) return;
    this.#giveTurn(waiter.owner);
    let lackingBytes = this.#usedBytes + waiter.bytes - this.#limitBytes;
    const longestFirst = [...this.#held].sort((one, other) => one.sinceMs - other.sinceMs);
    for (const held of longestFirst) {
      if (lackingBytes <= 0) return;
      const isSlow = held.onYield !== null && now - held.sinceMs >= SLOW_AFTER_MS;
      const usedBytes = used.get(held.owner)!;
      if (!isSlow || usedBytes <= shareBytes) continue;
      used.set(held.owner, usedBytes - held.bytes);
      lackingBytes -= held.bytes;
      held.onYield!();
    }
  }

  /** Makes the owner the next. */
  #giveTurn(owner: string): void {
    const others = [...this.#queues].filter(([other]) => other !== owner);
    for (const [other] of others) this.#queues.delete(other);
    for (const [other, queue] of others) this.#queues.set(other, queue);
  }

  #shareBytes(): number {
    return this.#limitBytes / new Set([...this.#usedBy.keys(), ...this.#queues.keys()]).size;
  }
}
