import { BoundedMap } from '../../core/bounded-map.ts';
import { type Clock, monotonicClock } from '../../core/clock.ts';
import { Failure } from '../../core/errors.ts';
import { Batcher } from '../../core/flow/batcher.ts';
import type { UserId } from '../../core/ids.ts';
import { RATE_WINDOWS, type RateQuotas, type RateWindow } from '../../core/rate-quotas.ts';
import type { Db } from '../../db/pool.ts';
import { countRequests, type RateCount } from '../../domain/rate-limits/count-requests.ts';

export interface RateLimitVerdict {
  /** `RateLimit` and `RateLimit-Policy` for the response; empty for users without a limit. */
  headers: Readonly<Record<string, string>>;
  /** The exhausted window; null when the request is allowed. */
  exceeded: { window: RateWindow; retryAfterSeconds: number } | null;
}

/** Counts a request against its user, whichever key it came with, and decides whether it is allowed. */
export interface RateLimiter {
  check(userId: UserId): RateLimitVerdict | Promise<RateLimitVerdict>;
}

/** Throws `tooManyRequests`, which names the window, unless the request is allowed. */
export function refuseExceeded({ exceeded }: RateLimitVerdict): void {
  if (exceeded === null) return;
  const { window, retryAfterSeconds } = exceeded;
  throw new Failure('tooManyRequests', `rate limit exceeded for the ${window} window`, { retryAfterSeconds });
}

const PASS: RateLimitVerdict = { headers: {}, exceeded: null };

export const unlimited: RateLimiter = { check: () => PASS };

/** How long refusals and exemptions are cached, and so how long a change of a user's quotas may go unnoticed. */
const CACHE_TTL_MS = 1_000;
const MAX_CACHED_USERS = 10_000;
const MAX_BATCH = 1_000;

const WINDOWS = Object.keys(RATE_WINDOWS) as RateWindow[];

/**
 * Counts in the database, so that all processes share one exact count. Concurrent requests of all users share one
 * statement; while it runs, later ones gather for the next. A refusal holds until its window ends and is repeated from
 * memory, so a flood costs the database one statement per second.
 *
 * The counts are in a logged table, but the given connections should not wait for the disk (`synchronous_commit = off`):
 * a crash of the database server loses the last fraction of a second. An unlogged table would be slightly cheaper, but a
 * crash would lose the whole day.
 */
export class SharedRateLimiter implements RateLimiter {
  readonly #db: Db;
  readonly #quotas: RateQuotas;
  readonly #clock: Clock | undefined;
  readonly #elapsed: Clock;
  readonly #batcher: Batcher<UserId, RateLimitVerdict>;
  readonly #cache = new BoundedMap<UserId, { count: RateCount | null; atMs: number; untilMs: number }>(
    MAX_CACHED_USERS,
  );

  /** `quotas`: for users without their own. `clock`: absent, the database's time applies. */
  constructor(options: { pool: Db; quotas: RateQuotas; clock?: Clock }) {
    this.#db = options.pool;
    this.#quotas = options.quotas;
    this.#clock = options.clock;
    this.#elapsed = options.clock ?? monotonicClock;
    this.#batcher = new Batcher({
      lanes: 1,
      maxSize: MAX_BATCH,
      isCallFault: () => false,
      flush: (userIds) => this.#count(userIds),
    });
  }

  check(userId: UserId): RateLimitVerdict | Promise<RateLimitVerdict> {
    return this.#fromCache(userId) ?? this.#batcher.run(userId);
  }

  #fromCache(userId: UserId): RateLimitVerdict | undefined {
    const cached = this.#cache.get(userId);
    if (!cached) return undefined;
    const elapsed = this.#elapsed.now();
    if (elapsed >= cached.untilMs) {
      this.#cache.delete(userId);
      return undefined;
    }
    return cached.count === null ? PASS : toVerdict(cached.count, 0, cached.count.nowMs + elapsed - cached.atMs);
  }

  async #count(userIds: readonly UserId[]): Promise<RateLimitVerdict[]> {
    const asked = new Map<UserId, number>();
    for (const userId of userIds) asked.set(userId, (asked.get(userId) ?? 0) + 1);
    const atMs = this.#elapsed.now(); // read before the database's clock, so that cached verdicts expire early, never late
    const now = this.#clock ? new Date(this.#clock.now()) : null;
    const counts = await countRequests(this.#db, asked, this.#quotas, now);
    for (const [userId, wanted] of asked) {
      const count = counts.get(userId) ?? null;
      if (count === null || count.granted < wanted) this.#cacheVerdict(userId, count, atMs);
    }
    const placed = new Map<UserId, number>();
    return userIds.map((userId) => {
      const count = counts.get(userId);
      if (!count) return PASS;
      const place = (placed.get(userId) ?? 0) + 1;
      placed.set(userId, place);
      return toVerdict(count, place, count.nowMs);
    });
  }

  #cacheVerdict(userId: UserId, count: RateCount | null, atMs: number): void {
    const resets = count === null ? [] : WINDOWS.map((window) => resetMs(count, window) - count.nowMs);
    this.#cache.set(userId, { count, atMs, untilMs: atMs + Math.min(CACHE_TTL_MS, ...resets) });
  }
}

/** The verdict on the `place`-th request of a count, from 1. 0: a later request, for which nothing is left. */
function toVerdict(count: RateCount, place: number, nowMs: number): RateLimitVerdict {
  const isGranted = place >= 1 && place <= count.granted;
  const later = isGranted ? count.granted - place : 0;
  const limits: string[] = [];
  const policies: string[] = [];
  let exceeded: RateLimitVerdict['exceeded'] = null;
  for (const window of WINDOWS) {
    const { used, quota } = count.windows[window];
    const seconds = Math.max(1, Math.ceil((resetMs(count, window) - nowMs) / 1000));
    limits.push(`"${window}";r=${Math.max(0, quota - used + later)};t=${seconds}`);
    policies.push(`"${window}";q=${quota};w=${RATE_WINDOWS[window]}`);
    // WINDOWS is ordered by length, so the last exhausted one ends last, or in the same second.
    if (!isGranted && used >= quota) exceeded = { window, retryAfterSeconds: seconds };
  }
  return { headers: { RateLimit: limits.join(', '), 'RateLimit-Policy': policies.join(', ') }, exceeded };
}

function resetMs(count: RateCount, window: RateWindow): number {
  return (count.windows[window].number + 1) * RATE_WINDOWS[window] * 1000;
}
