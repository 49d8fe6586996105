import type { Clock } from '../core/clock.ts';
import type { EndpointId, UserId } from '../core/ids.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import type { EndpointType } from '../domain/endpoints/endpoint.ts';
import { EntryCache } from './entry-cache.ts';

/** What the data plane has to know of an endpoint, kept in memory. */
export interface EndpointEntry {
  readonly id: EndpointId;
  readonly userId: UserId;
  readonly type: EndpointType;
  readonly workersMax: number;
  /** Per request; 0 means no limit. */
  readonly timeoutMs: number;
  /** Queued jobs as of the last look, plus what this process queued since. */
  queuedEstimate: number;
}

const DEPTH_TTL_MS = 500;

/** The endpoints that are used through this process. */
export class EndpointDirectory {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #cache: EntryCache<EndpointEntry>;
  readonly #depthAt = new Map<string, number>();
  readonly #depthLooks = new Map<string, Promise<number>>();

  constructor(options: { pool: Pool; bus: Bus; clock: Clock }) {
    this.#pool = options.pool;
    this.#clock = options.clock;
    this.#cache = new EntryCache({ clock: options.clock, load: (id, previous) => this.#load(id, previous) });
    options.bus.subscribe('endpoint', (id) => {
      this.#cache.drop(id);
      this.#depthAt.delete(id);
    });
  }

  /** The endpoint, if it is there; synchronous when known. */
  find(id: string): EndpointEntry | undefined | Promise<EndpointEntry | undefined> {
    return this.#cache.find(id);
  }

  /** Jobs were queued by this process; refreshes the estimate now and then, behind the caller's back. */
  addQueued(entry: EndpointEntry, count: number): void {
    entry.queuedEstimate += count;
    const now = this.#clock.now();
    if (now - (this.#depthAt.get(entry.id) ?? 0) < DEPTH_TTL_MS) return;
    this.#depthAt.set(entry.id, now);
    void this.countQueued(entry).catch(() => {});
  }

  /** How many jobs are queued now. The estimate may be too high, so nobody is refused by it alone. */
  async countQueued(entry: EndpointEntry): Promise<number> {
    const look =
      this.#depthLooks.get(entry.id) ?? this.#queued(entry.id).finally(() => this.#depthLooks.delete(entry.id));
    this.#depthLooks.set(entry.id, look);
    entry.queuedEstimate = await look;
    return entry.queuedEstimate;
  }

  async #load(id: string, previous: EndpointEntry | undefined): Promise<EndpointEntry | undefined> {
    const result = await this.#pool.query<Omit<EndpointEntry, 'queuedEstimate'>>({
      name: 'endpoint-entry',
      text: `select id, user_id as "userId", type, workers_max as "workersMax", timeout_ms as "timeoutMs"
             from endpoints where id = $1`,
      values: [id],
    });
    const row = result.rows[0];
    return row && { ...row, queuedEstimate: previous?.queuedEstimate ?? (await this.#queued(id)) };
  }

  async #queued(id: string): Promise<number> {
    const result = await this.#pool.query<{ queued: number }>({
      name: 'endpoint-queued',
      text: 'select coalesce(sum(queued + queued_low), 0)::int8 as queued from endpoint_counters where endpoint_id = $1',
      values: [id],
    });
    return result.rows[0]!.queued;
  }
}
