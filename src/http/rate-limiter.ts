import { Batcher } from '../core/batcher.ts';
import { type Clock, monotonicClock } from '../core/clock.ts';
import { Failure } from '../core/errors.ts';
import type { UserId } from '../core/ids.ts';
import { RATE_WINDOWS, type RateQuotas, type RateWindow } from '../core/rate-quotas.ts';
import type { Db } from '../db/pool.ts';
import { countRequests, type RateCount } from '../domain/rate-limits/count-requests.ts';

export interface RateLimitVerdict {
  /** `RateLimit` and `RateLimit-Policy`, for every answer to the request; empty when nothing is limited. */
  headers: Readonly<Record<string, string>>;
  /** The window that is used up, or null when the request may pass. */
  exceeded: { window: RateWindow; retryAfterSeconds: number } | null;
}

/** Counts a request of a user, whatever key it came with, and says whether it may pass. */
export interface RateLimiter {
  check(userId: UserId): RateLimitVerdict | Promise<RateLimitVerdict>;
}

/** Throws `tooManyRequests` that names the window, unless the request may pass. */
export function refuseExceeded({ exceeded }: RateLimitVerdict): void {
  if (exceeded === null) return;
  const { window, retryAfterSeconds } = exceeded;
  throw new Failure('tooManyRequests', `rate limit exceeded for the ${window} window`, { retryAfterSeconds });
}

const PASS: RateLimitVerdict = { headers: {}, exceeded: null };

export const unlimited: RateLimiter = { check: () => PASS };

/** How long a refusal or an exemption is given from memory: so long may a change of the user's quotas go unnoticed. */
const REMEMBER_MS = 1_000;
const MAX_REMEMBERED = 10_000;
const MAX_BATCH = 1_000;

const WINDOWS = Object.keys(RATE_WINDOWS) as RateWindow[];

/**
 * Counts in the database, so that all processes share one count and none of them can be wrong by a request. Requests of
 * the same moment, whoever they are from, share one statement; while it runs, later ones gather for the next. A refusal
 * holds until its window ends, whatever else happens: it is repeated from memory, so that a flood costs the database
 * one statement a second.
 * The counts are kept in a logged table, but the connections given here should not wait for the disk
 * (`synchronous_commit = off`): after a crash of the database server the last fraction of a second is uncounted. An
 * unlogged table would be a little cheaper and lose the whole day.
 */
export class SharedRateLimiter implements RateLimiter {
  readonly #db: Db;
  readonly #quotas: RateQuotas;
  readonly #clock: Clock | undefined;
  readonly #elapsed: Clock;
  readonly #batcher: Batcher<UserId, RateLimitVerdict>;
  readonly #remembered = new Map<UserId, { count: RateCount | null; atMs: number; untilMs: number }>();

  /** `quotas` are those of users without any of their own. `clock` absent: the database's time counts. */
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
    return this.#recall(userId) ?? this.#batcher.run(userId);
  }

  #recall(userId: UserId): RateLimitVerdict | undefined {
    const known = this.#remembered.get(userId);
    if (!known) return undefined;
    const elapsed = this.#elapsed.now();
    if (elapsed >= known.untilMs) {
      this.#remembered.delete(userId);
      return undefined;
    }
    return known.count === null ? PASS : toVerdict(known.count, 0, known.count.nowMs + elapsed - known.atMs);
  }

  async #count(userIds: readonly UserId[]): Promise<RateLimitVerdict[]> {
    const asked = new Map<UserId, number>();
    for (const userId of userIds) asked.set(userId, (asked.get(userId) ?? 0) + 1);
    const atMs = this.#elapsed.now(); // before the database looks at its clock: what is remembered ends early, never late
    const now = this.#clock ? new Date(this.#clock.now()) : null;
    const counts = await countRequests(this.#db, asked, this.#quotas, now);
    for (const [userId, wanted] of asked) {
      const count = counts.get(userId) ?? null;
      if (count === null || count.granted < wanted) this.#remember(userId, count, atMs);
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

  #remember(userId: UserId, count: RateCount | null, atMs: number): void {
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    const resets = count === null ? [] : WINDOWS.map((window) => resetMs(count, window) - count.nowMs);
    this.#remembered.set(userId, { count, atMs, untilMs: atMs + Math.min(REMEMBER_MS, ...resets) });
  }
}

/** The verdict on the `place`-th request of a count, from 1; 0 is one that comes after. */
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
    // The later the window in the list, the later its end; on the same second either is right.
    if (!isGranted && used >= quota) exceeded = { window, retryAfterSeconds: seconds };
  }
  return { headers: { RateLimit: limits.join(', '), 'RateLimit-Policy': policies.join(', ') }, exceeded };
}

function resetMs(count: RateCount, window: RateWindow): number {
  return (count.windows[window].number + 1) * RATE_WINDOWS[window] * 1000;
}
