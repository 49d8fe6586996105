import type { Clock } from '../core/clock.ts';

/** A hint drops an entry at once; this bounds how long a lost hint can matter. */
const TTL_MS = 10_000;
const MAX_ENTRIES = 50_000;

/** What the data plane keeps in memory of rows that it would otherwise read with every request. */
export class EntryCache<Entry extends object> {
  readonly #load: (id: string, previous: Entry | undefined) => Promise<Entry | undefined>;
  readonly #clock: Clock;
  readonly #entries = new Map<string, { entry: Entry; loadedAt: number }>();
  readonly #loads = new Map<string, Promise<Entry | undefined>>();

  /** `load` answers undefined for a row that is not there, which is not remembered. */
  constructor(options: {
    clock: Clock;
    load: (id: string, previous: Entry | undefined) => Promise<Entry | undefined>;
  }) {
    this.#load = options.load;
    this.#clock = options.clock;
  }

  /** Synchronous when known, so that the hot path does not wait for a turn of the event loop. */
  find(id: string): Entry | undefined | Promise<Entry | undefined> {
    const known = this.#entries.get(id);
    if (known && this.#clock.now() - known.loadedAt < TTL_MS) return known.entry;
    return this.#loads.get(id) ?? this.#start(id);
  }

  /** What is in memory, however old. */
  peek(id: string): Entry | undefined {
    return this.#entries.get(id)?.entry;
  }

  /** True when somebody of this process has asked for it lately. */
  isKnown(id: string): boolean {
    return this.#entries.has(id) || this.#loads.has(id);
  }

  /** The row changed: the next look reads it. A read that is under way may have seen the old row and is not remembered. */
  drop(id: string): void {
    this.#entries.delete(id);
    this.#loads.delete(id);
  }

  #start(id: string): Promise<Entry | undefined> {
    const loading = this.#load(id, this.peek(id))
      .then((entry) => {
        if (this.#loads.get(id) === loading) this.#remember(id, entry);
        return entry;
      })
      .finally(() => {
        if (this.#loads.get(id) === loading) this.#loads.delete(id);
      });
    this.#loads.set(id, loading);
    return loading;
  }

  #remember(id: string, entry: Entry | undefined): void {
    if (this.#entries.size >= MAX_ENTRIES) this.#entries.clear();
    if (entry) this.#entries.set(id, { entry, loadedAt: this.#clock.now() });
    else this.#entries.delete(id);
  }
}
