import type { Db } from '../../db/pool.ts';
import type { NewEntry } from './audit-entry.ts';
import { insertEntry } from './insert-entry.ts';

/** How long refusals that are alike are counted before they are written. */
const WINDOW_MS = 600_000;
/** Entries in a window that are written at once: of one caller, and of all. Beyond them, refusals are counted in one entry. */
const MAX_OF_CALLER = 20;
const MAX_OF_ALL = 500;
const UNCOUNTED = 'more refusals than this log keeps apart';

interface Counted {
  entry: NewEntry;
  /** Those that no entry stands for yet. */
  more: number;
}

/**
 * Writes refusals to the audit log so that a flood of them cannot fill it: the first of its kind at once, those that are alike and come within
 * ten minutes as one entry with their number. Alike are refusals of one caller, from one address, of one operation for one reason. A kill
 * loses at most the numbers of ten minutes.
 */
export class RefusalLog {
  readonly #db: Db;
  readonly #maxOfAll: number;
  readonly #counted = new Map<string, Counted>();
  readonly #ofCaller = new Map<string, number>();
  #others: Counted | null = null;
  #timer: NodeJS.Timeout | undefined;

  /** `maxOfAll`: how many kinds are kept apart in ten minutes. */
  constructor(db: Db, maxOfAll = MAX_OF_ALL) {
    this.#db = db;
    this.#maxOfAll = maxOfAll;
  }

  /** Resolves when the refusal is in the log, or counted. Rejects if it cannot be written. */
  async add(entry: NewEntry): Promise<void> {
    this.#begin();
    const key = [entry.actorId, entry.keyId, entry.sessionId, entry.address, entry.operation, entry.reason].join('\0');
    const known = this.#counted.get(key);
    if (known) {
      known.more += 1;
      return;
    }
    const caller = entry.actorId ?? entry.address ?? '';
    const ofCaller = this.#ofCaller.get(caller) ?? 0;
    if (ofCaller >= MAX_OF_CALLER || this.#counted.size >= this.#maxOfAll) {
      this.#others ??= { entry: anonymous(entry), more: 0 };
      this.#others.more += 1;
      return;
    }
    this.#ofCaller.set(caller, ofCaller + 1);
    this.#counted.set(key, { entry, more: 0 });
    await insertEntry(this.#db, entry);
  }

  /** Writes what was only counted, and begins a new window. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = [...this.#counted.values(), ...(this.#others ? [this.#others] : [])];
    this.#counted.clear();
    this.#ofCaller.clear();
    this.#others = null;
    for (const { entry, more } of waiting) {
      if (more > 0) await insertEntry(this.#db, { ...entry, requestId: null, repeats: more });
    }
  }

  #begin(): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => this.flush().catch(() => {}), WINDOW_MS);
    this.#timer.unref();
  }
}

function anonymous(entry: NewEntry): NewEntry {
  return {
    ...entry,
    ...{ actorKind: 'system', actorId: null, keyId: null, sessionId: null, ownerId: null, address: null },
    ...{ operation: 'audit.refusals', recordId: null, recordName: null, interface: 'control', reason: UNCOUNTED },
  };
}
