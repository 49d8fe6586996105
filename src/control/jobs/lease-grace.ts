import type { Clock } from '../../core/clock.ts';

/** A clock may be off by this much, and a check late by this much, without consequences. */
const TOLERANCE_MS = 2_000;

/** A check's finding about the time since the one before. */
export interface Interruption {
  /** Nobody checked for this long beyond the planned pause: this process, the machine or the database stood still. */
  lateMs: number;
  /** How far the database's clock moved beyond the time that passed: it was set, or the machine slept. */
  jumpMs: number;
}

/** Says what interrupted, for the log. */
export function describeInterruption({ jumpMs }: Interruption): string {
  return jumpMs === 0
    ? 'this process, its machine or the database stood still: leases begin anew'
    : 'the database’s clock was set, or its machine slept: leases begin anew, and times of running work move along';
}

/**
 * Decides from when on silence counts against a worker. A lease is judged only after a full period in which this process
 * could have heard of every heartbeat: since it began to lead, since it was last interrupted, and since the database's
 * clock last jumped. Time is an argument, and a monotonic one.
 */
export class LeaseGrace {
  readonly #leaseMs: number;
  readonly #monotonic: Clock;
  #judgesFrom = Number.NEGATIVE_INFINITY;
  #resumedAt = Number.NEGATIVE_INFINITY;
  #nextBy = Number.POSITIVE_INFINITY;
  #last: { atMs: number; databaseMs: number; uncertaintyMs: number } | undefined;

  constructor(options: { leaseMs: number; monotonic: Clock }) {
    this.#leaseMs = options.leaseMs;
    this.#monotonic = options.monotonic;
  }

  /** This process begins to lead: every lease gets a full period. */
  begin(): void {
    this.#last = undefined;
    this.#restart(this.#monotonic.now());
  }

  /** True when a lease that ran out means that its worker was silent. */
  get isOver(): boolean {
    return this.#monotonic.now() >= this.#judgesFrom;
  }

  /** Milliseconds since the last interruption ended, or null when that is a full lease ago. */
  get sinceResumedMs(): number | null {
    return this.isOver ? null : this.#monotonic.now() - this.#resumedAt;
  }

  /**
   * Takes a reading of the database's clock, asked for at `askedAtMs`, and restarts the grace after an interruption, which
   * it returns.
   */
  check(askedAtMs: number, databaseMs: number): Interruption | null {
    const now = this.#monotonic.now();
    const reading = { atMs: (askedAtMs + now) / 2, databaseMs, uncertaintyMs: (now - askedAtMs) / 2 };
    const before = this.#last;
    this.#last = reading;
    const lateMs = Math.max(0, now - this.#nextBy);
    const jumpMs = before ? databaseMs - before.databaseMs - (reading.atMs - before.atMs) : 0;
    const isLate = lateMs > Math.max(TOLERANCE_MS, this.#leaseMs / 4);
    const isJump = before && Math.abs(jumpMs) > TOLERANCE_MS + before.uncertaintyMs + reading.uncertaintyMs;
    if (!isLate && !isJump) return null;
    this.#restart(now);
    return { lateMs: isLate ? lateMs : 0, jumpMs: isJump ? jumpMs : 0 };
  }

  /**
   * Time of the database until which a statement that is sent now may judge, in ms since 1970: one that runs later met an
   * interruption on its way. Null before the first check.
   */
  get validUntilMs(): number | null {
    if (!this.#last) return null;
    return this.#last.databaseMs + this.#monotonic.now() - this.#last.atMs + TOLERANCE_MS;
  }

  /** The check is over, and the next one is planned. */
  planNext(inMs: number): void {
    this.#nextBy = this.#monotonic.now() + inMs;
  }

  /** Restarts the grace for a reason of the caller's. */
  restart(): void {
    this.#restart(this.#monotonic.now());
  }

  #restart(now: number): void {
    this.#resumedAt = now;
    this.#judgesFrom = now + this.#leaseMs;
    this.#nextBy = Number.POSITIVE_INFINITY;
  }
}
