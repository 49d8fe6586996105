import { BoundedMap } from '../core/bounded-map.ts';
import type { Clock } from '../core/clock.ts';

/** Bounds how long a lost hint can matter; a hint drops its entry at once. */
const TTL_MS = 10_000;
const MAX_ENTRIES = 50_000;

/** Rows that the data plane would otherwise read with every request, cached in memory. */
export class EntryCache<Entry extends object> {
  readonly #load: (id: string, previous: Entry | undefined) => Promise<Entry | undefined>;
  readonly #monotonic: Clock;
  readonly #entries = new BoundedMap<string, { entry: Entry; loadedAt: number }>(MAX_ENTRIES);
  readonly #loads = new Map<string, Promise<Entry | undefined>>();

  /** `load` resolves with undefined for a missing row, which is not cached. */
  constructor(options: {
    monotonic: Clock;
    load: (id: string, previous: Entry | undefined) => Promise<Entry | undefined>;
  }) {
    this.#load = options.load;
    this.#monotonic = options.monotonic;
  }

  /** Synchronous for a cached entry, so that the hot path does not wait for a turn of the event loop. */
  find(id: string): Entry | undefined | Promise<Entry | undefined> {
    const known = this.#entries.get(id);
    if (known && this.#monotonic.now() - known.loadedAt < TTL_MS) return known.entry;
    return this.#loads.get(id) ?? this.#startLoad(id);
  }

  /** The cached entry, if it is fresh enough for `find`. */
  fresh(id: string): Entry | undefined {
    const known = this.#entries.get(id);
    return known && this.#monotonic.now() - known.loadedAt < TTL_MS ? known.entry : undefined;
  }

  /** The cached entry, however old. */
  peek(id: string): Entry | undefined {
    return this.#entries.get(id)?.entry;
  }

  /** True when this process has used the entry lately. */
  isKnown(id: string): boolean {
    return this.#entries.has(id) || this.#loads.has(id);
  }

  /** Makes the next `find` read the row. A read in flight may have seen the old row and is not cached. */
  drop(id: string): void {
    this.#entries.delete(id);
    this.#loads.delete(id);
  }

  #startLoad(id: string): Promise<Entry | undefined> {
    const loading = this.#load(id, this.peek(id))
      .then((entry) => {
        if (this.#loads.get(id) === loading) this.#store(id, entry);
        return entry;
      })
      .finally(() => {
        if (this.#loads.get(id) === loading) this.#loads.delete(id);
      });
    this.#loads.set(id, loading);
    return loading;
  }

  #store(id: string, entry: Entry | undefined): void {
    if (entry) this.#entries.set(id, { entry, loadedAt: this.#monotonic.now() });
    else this.#entries.delete(id);
  }
}
