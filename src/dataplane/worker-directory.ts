import type { Clock } from '../core/clock.ts';
import type { EndpointId, WorkerId } from '../core/ids.ts';
import type { Bus } from '../db/bus.ts';
import type { Pool } from '../db/pool.ts';
import { EntryCache } from './entry-cache.ts';

/** What the worker API has to know of a worker, kept in memory. */
export interface WorkerEntry {
  readonly id: WorkerId;
  readonly endpointId: EndpointId;
  readonly version: number;
  readonly tokenHash: Buffer | null;
  /** False once it is to leave or to be frozen: it gets no more jobs. */
  readonly isWanted: boolean;
  /** It is to be frozen, or is; one that is merely parked goes on asking. */
  readonly isResting: boolean;
  isReady: boolean;
  /** When it was first refused work because it is to leave. */
  leavingSince?: number;
}

/** The workers that talk to this process. A token dies with its worker: the entry is gone at the next look. */
export class WorkerDirectory {
  readonly #pool: Pool;
  readonly #cache: EntryCache<WorkerEntry>;

  constructor(options: {
    pool: Pool;
    bus: Bus;
    clock: Clock;
    onLeaving: (worker: WorkerEntry) => void;
    /** It was to be frozen, and shall work again. */
    onThaw: (worker: WorkerEntry) => void;
  }) {
    this.#pool = options.pool;
    this.#cache = new EntryCache({ clock: options.clock, load: (id) => this.#load(id) });
    options.bus.subscribe('worker', (id) => {
      if (this.#cache.isKnown(id)) void this.#look(id, options).catch(() => {});
    });
  }

  /** What is in memory, however old. */
  peek(id: string): WorkerEntry | undefined {
    return this.#cache.peek(id);
  }

  /** The worker, if it lives; synchronous when known. */
  find(id: string): WorkerEntry | undefined | Promise<WorkerEntry | undefined> {
    return this.#cache.find(id);
  }

  /** The worker's row changed: perhaps it is to leave. */
  async #look(id: string, tell: Record<'onLeaving' | 'onThaw', (worker: WorkerEntry) => void>): Promise<void> {
    const before = this.#cache.peek(id);
    this.#cache.drop(id);
    const now = await this.#cache.find(id);
    const worker = now ?? before;
    if (worker && !now?.isWanted) tell.onLeaving(worker);
    else if (now && before?.isWanted === false) tell.onThaw(now);
  }

  async #load(id: string): Promise<WorkerEntry | undefined> {
    const result = await this.#pool.query<WorkerEntry>({
      name: 'worker-entry',
      text: `select id, endpoint_id as "endpointId", version, token_hash as "tokenHash", wanted = 'RUN' as "isWanted",
               wanted = 'FREEZE' as "isResting", ready_at is not null as "isReady"
             from workers where id = $1 and phase <> 'EXITED'`,
      values: [id],
    });
    return result.rows[0];
  }
}
