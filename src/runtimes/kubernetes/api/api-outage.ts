import { type Clock, monotonicClock } from '../../../core/clock.ts';
import { markReported, messageOf } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';

const INTERVAL_MS = 60_000;

/**
 * Logs when the API server stops answering, once a minute while it does not, and when it answers again. Every request, watch and task fails
 * meanwhile: their errors are marked as reported, so that they are not logged again.
 */
export class ApiOutage {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #onReturn = new Set<() => void>();
  #since: number | null = null;
  #loggedAt = Number.NEGATIVE_INFINITY;
  /** The outage has a line in the log. One that begins within a minute of the last line may end without any. */
  #isLogged = false;

  constructor({ logger, clock = monotonicClock }: { logger: Logger; clock?: Clock }) {
    this.#logger = logger;
    this.#clock = clock;
  }

  /** Calls the listener whenever the server answers again, until the returned function is called. */
  subscribe(onReturn: () => void): () => void {
    this.#onReturn.add(onReturn);
    return () => void this.#onReturn.delete(onReturn);
  }

  /** A request got no answer. */
  failed(error: unknown): void {
    markReported(error);
    const now = this.#clock.now();
    this.#since ??= now;
    if (now - this.#loggedAt < INTERVAL_MS) return;
    this.#loggedAt = now;
    this.#isLogged = true;
    const fields = { durationMs: Math.round(now - this.#since), reason: messageOf(error) };
    this.#logger.warn(fields, 'the Kubernetes API server does not answer; what runs keeps running');
  }

  /** A request was answered. */
  answered(): void {
    if (this.#since === null) return;
    const durationMs = Math.round(this.#clock.now() - this.#since);
    if (this.#isLogged) this.#logger.info({ durationMs }, 'the Kubernetes API server answers again');
    this.#since = null;
    this.#isLogged = false;
    for (const onReturn of this.#onReturn) onReturn();
  }
}
