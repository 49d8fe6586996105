import { BoundedMap } from '../core/bounded-map.ts';
import type { Clock } from '../core/clock.ts';
import type { EndpointId, UserId } from '../core/ids.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import type { TeamRing } from '../domain/access/team-ring.ts';
import type { EndpointType } from '../domain/endpoints/endpoint.ts';
import { limitsOfRow, setLimitsColumns } from '../domain/quotas/limit-store.ts';
import type { OwnLimits } from '../domain/quotas/limits.ts';
import { EntryCache } from './entry-cache.ts';
import type { UserDirectory, UserEntry } from './user-directory.ts';

/** An endpoint as the data plane caches it in memory. */
export interface EndpointEntry {
  readonly id: EndpointId;
  readonly userId: UserId;
  readonly type: EndpointType;
  readonly workersMax: number;
  /** Per request; 0: no limit. */
  readonly timeoutMs: number;
  readonly depth: QueueDepth;
  readonly user: UserEntry;
}

/** How full an endpoint's queue is, as far as this process knows. Outlives changes of the endpoint. */
interface QueueDepth {
  /** Queued jobs at the last count. */
  counted: number;
  /** At the last count, plus those this process queued since: too high by what was stored during the count. */
  queued: number;
  /** Jobs this process is submitting now. */
  submitting: number;
  /** Jobs it submitted so far. */
  submitted: number;
}

interface SetLimitsRow {
  ownLimits: OwnLimits;
  defaultLimits: OwnLimits;
}

/** Endpoints whose depth is remembered; an evicted one is counted again. */
const MAX_DEPTHS = 10_000;
/** How often the count of queued jobs is refreshed while jobs are submitted. */
const COUNT_INTERVAL_MS = 500;

/** The endpoints that clients use through this process. */
export class EndpointDirectory {
  readonly #deps: {
    readonly pool: Pool;
    readonly monotonic: Clock;
    readonly users: UserDirectory;
    readonly teams: TeamRing;
  };
  readonly #cache: EntryCache<EndpointEntry>;
  readonly #depths = new BoundedMap<string, QueueDepth>(MAX_DEPTHS);
  readonly #countedAt = new BoundedMap<string, number>(MAX_DEPTHS);
  readonly #counts = new Map<string, Promise<number>>();

  constructor(options: { pool: Pool; bus: Bus; monotonic: Clock; users: UserDirectory; teams: TeamRing }) {
    this.#deps = options;
    this.#cache = new EntryCache({ monotonic: options.monotonic, load: (id) => this.#load(id) });
    options.bus.subscribe('endpoint', (id) => {
      this.#cache.drop(id);
      this.#countedAt.delete(id);
    });
  }

  /**
   * The user's endpoint, or one of a team of theirs. Synchronous when cached. Another user's costs the same query as a missing one, even if
   * it is cached: the response time must not reveal that it exists.
   */
  findReachable(id: string, userId: UserId): EndpointEntry | undefined | Promise<EndpointEntry | undefined> {
    const fresh = this.#cache.fresh(id);
    if (fresh?.userId === userId) return fresh;
    const owner = this.#cache.peek(id)?.userId;
    if (owner === userId) return this.#cache.find(id);
    if (owner !== undefined && this.#deps.teams.peek(userId)?.has(owner)) return this.#cache.find(id);
    return this.#findFirst(id, userId);
  }

  /** The endpoint, or undefined when it does not exist. Synchronous when cached. */
  find(id: string): EndpointEntry | undefined | Promise<EndpointEntry | undefined> {
    return this.#cache.find(id);
  }

  /** Adds to the estimate of queued jobs, and refreshes it in the background now and then. */
  addQueued(entry: EndpointEntry, count: number): void {
    entry.depth.queued += count;
    const now = this.#deps.monotonic.now();
    if (now - (this.#countedAt.get(entry.id) ?? -COUNT_INTERVAL_MS) < COUNT_INTERVAL_MS) return;
    this.#countedAt.set(entry.id, now);
    void this.countQueued(entry).catch(() => {});
  }

  /** Counts the queued jobs. The estimate may be too high: never refuse a job because of it alone. */
  async countQueued(entry: EndpointEntry): Promise<number> {
    const count = this.#counts.get(entry.id) ?? this.#recount(entry).finally(() => this.#counts.delete(entry.id));
    this.#counts.set(entry.id, count);
    entry.depth.queued = await count;
    return entry.depth.queued;
  }

  /** Counts, and adds the jobs submitted meanwhile, which the count may miss. */
  async #recount(entry: EndpointEntry): Promise<number> {
    const { depth } = entry;
    const submittedBefore = depth.submitted;
    depth.counted = await this.#queryQueued(entry.id);
    return depth.counted + depth.submitted - submittedBefore;
  }

  async #findFirst(id: string, userId: UserId): Promise<EndpointEntry | undefined> {
    const teams = await this.#deps.teams.teamsOf(userId);
    const result = await this.#deps.pool.query({
      name: 'endpoint-reachable',
      text: 'select 1 from endpoints where id = $1 and user_id = any($2::text[])',
      values: [id, [userId, ...teams.keys()]],
    });
    return result.rows.length === 0 ? undefined : this.#cache.find(id);
  }

  async #load(id: string): Promise<EndpointEntry | undefined> {
    const { pool, users } = this.#deps;
    const result = await pool.query<Omit<EndpointEntry, 'depth' | 'user'> & SetLimitsRow>({
      name: 'endpoint-entry',
      text: `select id, user_id as "userId", type, workers_max as "workersMax", timeout_ms as "timeoutMs",
               ${setLimitsColumns('e.user_id')}
             from endpoints e where id = $1`,
      values: [id],
    });
    if (result.rows[0] === undefined) return undefined;
    const { ownLimits, defaultLimits, ...endpoint } = result.rows[0];
    const user = await users.load(endpoint.userId, limitsOfRow({ ownLimits, defaultLimits }));
    return { ...endpoint, user, depth: this.#depths.get(id) ?? (await this.#firstDepth(id)) };
  }

  async #firstDepth(id: string): Promise<QueueDepth> {
    const queued = await this.#queryQueued(id);
    const depth = this.#depths.get(id) ?? { counted: queued, queued, submitting: 0, submitted: 0 };
    this.#depths.set(id, depth);
    return depth;
  }

  async #queryQueued(id: string): Promise<number> {
    const result = await this.#deps.pool.query<{ queued: number }>({
      name: 'endpoint-queued',
      text: 'select coalesce(sum(queued + queued_low), 0)::int8 as queued from endpoint_counters where endpoint_id = $1',
      values: [id],
    });
    return result.rows[0]!.queued;
  }
}
