import { type Clock, monotonicClock } from '../core/clock.ts';
import { markReported, messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { describeDatabaseFault, isWriteFault } from './database-fault.ts';
import { onFailedStatement, type Pool } from './pool.ts';

/** Interval of the probes while a fault lasts, and for how long nothing may fail before it is over. */
const PROBE_MS = 2_000;
const QUIET_MS = 5_000;
const REPORT_MS = 60_000;
/** Needs 2 MB of new disk space, which it gives back: a small write may succeed on a full disk. */
const PROBE = `create temporary table write_probe on commit drop as
  select md5(i::text) as filler from generate_series(1, 32768) i`;

interface Fault {
  reason: string;
  beganAt: number;
  failedAt: number;
  reportedAt: number;
  failures: number;
  isRefusingWrites: boolean;
}

/**
 * Watches whether the database accepts work. Learns of faults from the statements that fail, so that nothing is sent while
 * all is well; while a fault lasts, it probes with a write. Logs when a fault begins, once a minute, and when it ends:
 * requests and loops that fail of it log nothing.
 */
export class DatabaseHealth {
  readonly #deps: { pool: Pool; logger: Logger; monotonic: Clock };
  #fault: Fault | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** `pool` is used for the probes. */
  constructor({ monotonic = monotonicClock, ...deps }: { pool: Pool; logger: Logger; monotonic?: Clock }) {
    this.#deps = { ...deps, monotonic };
  }

  /** Observes the statements of this pool. */
  watch(pool: Pool): void {
    onFailedStatement(pool, (error) => this.#observe(error));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** A public sentence on why nothing can be stored, or null. */
  get writeFault(): string | null {
    return this.#fault?.isRefusingWrites ? this.#fault.reason : null;
  }

  #observe(error: unknown): void {
    const reason = describeDatabaseFault(error);
    if (reason === undefined || this.#isStopped) return;
    markReported(error);
    const { logger, monotonic } = this.#deps;
    const now = monotonic.now();
    if (this.#fault === undefined) {
      this.#fault = { reason, beganAt: now, failedAt: now, reportedAt: now, failures: 0, isRefusingWrites: false };
      const fields = { reason, err: error };
      logger.error(fields, `the database fails: ${messageOf(error)}`);
      this.#probeIn(0);
    }
    const fault = this.#fault;
    fault.reason = reason;
    fault.failedAt = now;
    fault.failures += 1;
    if (isWriteFault(error)) fault.isRefusingWrites = true;
    if (now - fault.reportedAt < REPORT_MS) return;
    fault.reportedAt = now;
    logger.error({ reason, failures: fault.failures }, `the database still fails: ${messageOf(error)}`);
  }

  #probeIn(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#probe(), delayMs);
    this.#timer.unref();
  }

  /** A failure comes back to `#observe`. */
  async #probe(): Promise<void> {
    const { pool, logger, monotonic } = this.#deps;
    const fault = this.#fault!;
    try {
      await pool.query(PROBE);
    } catch {
      return this.#probeIn(PROBE_MS);
    }
    const now = monotonic.now();
    if (this.#isStopped) return;
    if (now - fault.failedAt < QUIET_MS) return this.#probeIn(PROBE_MS);
    this.#fault = undefined;
    const durationMs = Math.round(now - fault.beganAt);
    logger.info({ durationMs, failures: fault.failures }, 'the database works again');
  }
}
