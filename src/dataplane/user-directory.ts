import { BoundedMap } from '../core/bounded-map.ts';
import type { Clock } from '../core/clock.ts';
import type { UserId } from '../core/ids.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { readLimits } from '../domain/quotas/limit-store.ts';
import type { Limits } from '../domain/quotas/limits.ts';
import { type QueueTally, readQueueTally } from '../domain/quotas/usage.ts';

/** A user whose endpoints this process serves, as cached in memory. */
export interface UserEntry {
  readonly id: UserId;
  /** Read again with each of the user's endpoints, and after a hint. */
  limits: Limits;
  readonly queue: UserQueue;
}

/** How much a user has queued, as far as this process knows: jobs, and the bytes of their payloads. */
interface UserQueue {
  /** At the last count. */
  counted: QueueTally;
  /** At the last count, plus what this process queued since: too high by what was stored during the count. */
  queued: QueueTally;
  /** Jobs that this process is submitting now. */
  submitting: QueueTally;
  /** Jobs that it submitted so far. */
  submitted: QueueTally;
}

/** A user that is evicted is counted again. */
const MAX_USERS = 10_000;
/** How often the count is refreshed while jobs are submitted: far from a limit, only other processes' jobs matter. */
const COUNT_INTERVAL_MS = 5_000;
const COUNT_INTERVAL_NEAR_LIMIT_MS = 500;
const NEAR_LIMIT_SHARE = 0.5;

/** Users whose endpoints are used through this process: their limits, and what they have queued. */
export class UserDirectory {
  readonly #deps: { readonly pool: Pool; readonly monotonic: Clock };
  readonly #users = new BoundedMap<UserId, UserEntry>(MAX_USERS);
  readonly #countedAt = new BoundedMap<UserId, number>(MAX_USERS);
  readonly #counts = new Map<UserId, Promise<void>>();

  constructor(options: { pool: Pool; bus: Bus; monotonic: Clock }) {
    this.#deps = options;
    options.bus.subscribe('limits', (id) => void this.#reload(id as UserId | '').catch(() => {}));
  }

  /** Returns the user with these limits, which were just read. */
  async load(id: UserId, limits: Limits): Promise<UserEntry> {
    const known = this.#users.get(id);
    if (known) {
      known.limits = limits;
      return known;
    }
    const counted = await readQueueTally(this.#deps.pool, id);
    const queue = { counted, queued: { ...counted }, submitting: none(), submitted: none() };
    const user = this.#users.get(id) ?? { id, limits, queue };
    this.#users.set(id, user);
    return user;
  }

  /** Adds to the estimate of what is queued, and refreshes it in the background now and then. */
  addQueued(user: UserEntry, bytes: number): void {
    add(user.queue.queued, { jobs: 1, bytes });
    const now = this.#deps.monotonic.now();
    const intervalMs = isNearLimit(user) ? COUNT_INTERVAL_NEAR_LIMIT_MS : COUNT_INTERVAL_MS;
    if (now - (this.#countedAt.get(user.id) ?? Number.NEGATIVE_INFINITY) < intervalMs) return;
    this.#countedAt.set(user.id, now);
    void this.countQueued(user).catch(() => {});
  }

  /** Counts what is queued. The estimate may be too high: never refuse a job because of it alone. */
  countQueued(user: UserEntry): Promise<void> {
    const count = this.#counts.get(user.id) ?? this.#recount(user).finally(() => this.#counts.delete(user.id));
    this.#counts.set(user.id, count);
    return count;
  }

  /** Counts, and adds what was submitted meanwhile, which the count may miss. */
  async #recount({ id, queue }: UserEntry): Promise<void> {
    const before = { ...queue.submitted };
    const counted = await readQueueTally(this.#deps.pool, id);
    queue.counted = counted;
    queue.queued = {
      jobs: counted.jobs + queue.submitted.jobs - before.jobs,
      bytes: counted.bytes + queue.submitted.bytes - before.bytes,
    };
  }

  /** Reads the limits of a user, or of all for the installation's hint. */
  async #reload(id: UserId | ''): Promise<void> {
    const ids = id === '' ? [...this.#users.keys()] : this.#users.has(id) ? [id] : [];
    if (ids.length === 0) return;
    for (const [userId, limits] of await readLimits(this.#deps.pool, ids)) {
      const user = this.#users.get(userId);
      if (user) user.limits = limits;
    }
  }
}

export function add(tally: QueueTally, { jobs, bytes }: QueueTally): void {
  tally.jobs += jobs;
  tally.bytes += bytes;
}

function isNearLimit({ limits, queue: { queued } }: UserEntry): boolean {
  const isNear = (used: number, limit: number | null) => limit !== null && used > limit * NEAR_LIMIT_SHARE;
  return isNear(queued.jobs, limits.queuedJobs) || isNear(queued.bytes, limits.queuedBytes);
}

function none(): QueueTally {
  return { jobs: 0, bytes: 0 };
}
