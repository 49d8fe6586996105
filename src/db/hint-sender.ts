import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedSet } from '../core/bounded-map.ts';
import { monotonicClock } from '../core/clock.ts';
import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { HINT_CHANNEL, type HintTopic } from './hints.ts';
import type { Pool } from './pool.ts';

const RETRY_MS = 200;
/** During a long outage of the database the oldest hints are dropped: their readers poll the tables. */
const MAX_PENDING = 10_000;

/**
 * Topics with a hint for every job, and the pause after the last NOTIFY before one of them is sent, in ms. After a longer
 * quiet it is sent at once. PostgreSQL serializes all NOTIFYs with one lock, and each wakes every process.
 */
const PACE_MS: { readonly [Topic in HintTopic]?: number } = { queued: 2, demand: 10 };

/** Sends hints to other processes by NOTIFY. Those that gather while one is in flight go together, each only once. */
export class HintSender {
  readonly #deps: { pool: Pool; logger: Logger };
  readonly #pending = new BoundedSet<string>(MAX_PENDING);
  /** When the pending hints are due, by the monotonic clock. */
  #dueAt = 0;
  #sentAt = 0;
  #timer: { handle: NodeJS.Timeout; at: number } | undefined;
  #isSending = false;
  #isFailing = false;
  #isStopped = false;

  constructor(deps: { pool: Pool; logger: Logger }) {
    this.#deps = deps;
  }

  send(topic: HintTopic, message: string): void {
    const dueAt = this.#sentAt + (PACE_MS[topic] ?? 0);
    this.#dueAt = this.#pending.size === 0 ? dueAt : Math.min(this.#dueAt, dueAt);
    this.#pending.add(message);
    this.#sendDue();
  }

  /** Stops sending; returns the hints that are still pending. */
  stop(): string[] {
    this.#isStopped = true;
    this.#clearTimer();
    return [...this.#pending];
  }

  #sendDue(): void {
    if (this.#isSending || this.#isStopped || this.#pending.size === 0) return;
    const waitMs = this.#dueAt - monotonicClock.now();
    if (waitMs > 0) {
      this.#sendIn(waitMs);
      return;
    }
    this.#clearTimer();
    this.#isSending = true;
    void this.#sendPending();
  }

  #sendIn(waitMs: number): void {
    if (this.#timer && this.#timer.at <= this.#dueAt) return;
    this.#clearTimer();
    const handle = setTimeout(() => {
      this.#timer = undefined;
      this.#sendDue(); // a timer may fire slightly early; then this sets another one
    }, waitMs);
    this.#timer = { handle, at: this.#dueAt };
  }

  #clearTimer(): void {
    clearTimeout(this.#timer?.handle);
    this.#timer = undefined;
  }

  async #sendPending(): Promise<void> {
    const messages = [...this.#pending];
    this.#pending.clear();
    this.#sentAt = monotonicClock.now();
    try {
      await this.#deps.pool.query({
        name: 'notify',
        text: `select pg_notify('${HINT_CHANNEL}', m) from unnest($1::text[]) m`,
        values: [messages],
      });
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#deps.logger.warn({ err: error }, `hints could not be sent yet: ${messageOf(error)}`);
      this.#isFailing = true;
      for (const message of messages) this.#pending.add(message); // they may have been sent; a second time does no harm
      this.#dueAt = 0;
      await sleep(RETRY_MS, undefined, { ref: false });
    }
    this.#isSending = false;
    this.#sendDue();
  }
}
