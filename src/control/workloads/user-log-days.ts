import { Batcher } from '../../core/flow/batcher.ts';
import type { UserId } from '../../core/ids.ts';
import type { Bus } from '../../db/bus.ts';
import type { Pool } from '../../db/pool.ts';
import { readLimits } from '../../domain/quotas/limit-store.ts';
import { readLogUsage } from '../../domain/quotas/log-usage.ts';
import type { LogAllowance } from './log-gate.ts';

const DAY_MS = 86_400_000;
/** How long a change of a limit may go unnoticed if its hint is lost. */
const TTL_MS = 60_000;

/** Bytes that a user has stored today. */
class UserDay implements LogAllowance {
  limit: number | null;
  #day: number;
  #bytes: number;

  constructor(limit: number | null, bytes: number, nowMs: number) {
    this.limit = limit;
    this.#bytes = bytes;
    this.#day = Math.floor(nowMs / DAY_MS);
  }

  usedToday(nowMs: number): number {
    const day = Math.floor(nowMs / DAY_MS);
    if (day !== this.#day) {
      this.#day = day;
      this.#bytes = 0;
    }
    return this.#bytes;
  }

  add(bytes: number, nowMs: number): void {
    this.#bytes = this.usedToday(nowMs) + bytes;
  }
}

/** The log bytes that users stored today, counted here and in the database with the lines. One process stores lines. */
export class UserLogDays {
  /** Ends the subscription to changes of limits. */
  readonly close: () => void;
  readonly #pool: Pool;
  readonly #users = new Map<UserId, UserDay>();
  readonly #loads: Batcher<UserId, UserDay>;
  #readAtMs = 0;

  constructor({ pool, bus, now }: { pool: Pool; bus: Pick<Bus, 'subscribe'>; now: () => number }) {
    this.#pool = pool;
    this.#loads = new Batcher({
      lanes: 1,
      maxSize: 500,
      isCallFault: () => false,
      flush: async (ids) => this.#load(ids, now()),
    });
    this.close = bus.subscribe('limits', () => {
      this.#readAtMs = 0;
    });
  }

  /** Returns a user's day; it is the same object from now on. */
  async find(userId: UserId): Promise<UserDay> {
    return this.#users.get(userId) ?? (await this.#loads.run(userId));
  }

  /** Counts bytes of a line that will be stored. */
  add(userId: UserId, bytes: number, nowMs: number): void {
    this.#users.get(userId)?.add(bytes, nowMs);
  }

  /** Reads the limits again after a hint, and now and then. */
  async refresh(nowMs: number): Promise<void> {
    if (Math.abs(nowMs - this.#readAtMs) < TTL_MS) return;
    this.#readAtMs = nowMs;
    const limits = await readLimits(this.#pool, [...this.#users.keys()]);
    for (const [userId, { logBytesPerDay }] of limits) this.#users.get(userId)!.limit = logBytesPerDay;
  }

  async #load(ids: readonly UserId[], nowMs: number): Promise<UserDay[]> {
    const [limits, usage] = await Promise.all([readLimits(this.#pool, ids), readLogUsage(this.#pool, ids)]);
    return ids.map((id) => {
      const day = this.#users.get(id) ?? new UserDay(limits.get(id)!.logBytesPerDay, usage.get(id) ?? 0, nowMs);
      this.#users.set(id, day);
      return day;
    });
  }
}
