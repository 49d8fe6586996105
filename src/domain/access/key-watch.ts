import type { Clock } from '../../core/clock.ts';
import { Roster } from '../../core/roster.ts';
import type { Db } from '../../db/pool.ts';

/** Half of what a stream may outlive its key by, so that a lost hint does not matter. */
const POLL_MS = 1_000;

/** The end of a key or session, or of its person's membership in the account that they act for. */
export type UseEnd = 'CREDENTIAL' | 'MEMBERSHIP';

/** Instead of an end time, for a use whose key or session is still valid: its person's membership has ended or changed. */
export const MEMBERSHIP_ENDED = Number.NEGATIVE_INFINITY;

/** Something open with a key or a session: a request, a stream, a tunnel. */
export interface OpenUse {
  onKeyEnd(end: UseEnd): void;
  /** Its place in the roster of the key; negative at first. */
  place: number;
}

interface WatchDeps {
  pool: Db;
  clock: Clock;
  /** Returns those of `ids` that are valid, with their end in ms since 1970, or `MEMBERSHIP_ENDED`. */
  findLive(db: Db, ids: readonly string[]): Promise<Map<string, number>>;
}

interface Watched {
  readonly open: Roster<OpenUse>;
  /** As last read; infinite for a key that never expires or was not read yet. */
  expiresMs: number;
}

/**
 * Notifies what is open (streams, held requests, tunnels) of the end of its key, or its session. While something is open, one query a second
 * reads all its keys; a hint makes it read at once. While the database is unreachable, only a known expiry ends a key.
 */
export class KeyWatch {
  readonly #deps: WatchDeps;
  readonly #watched = new Map<string, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
  }

  /** Calls `onKeyEnd` once the key is revoked or expired. `delete` it in every case. */
  add(id: string, open: OpenUse): void {
    let watched = this.#watched.get(id);
    if (!watched) {
      watched = { open: new Roster(), expiresMs: Number.POSITIVE_INFINITY };
      this.#watched.set(id, watched);
    }
    watched.open.add(open);
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS).unref();
  }

  delete(id: string, open: OpenUse): void {
    this.#watched.get(id)?.open.delete(open);
  }

  /** The key may have changed. */
  hint(id: string): void {
    if (this.#watched.has(id)) void this.#poll();
  }

  /** Any key may have changed. */
  hintAll(): void {
    void this.#poll();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#watched.clear();
  }

  async #poll(): Promise<void> {
    this.#forgetUnwatched();
    const now = this.#deps.clock.now();
    for (const [id, { expiresMs }] of this.#watched) if (expiresMs <= now) this.#end(id, 'CREDENTIAL');
    if (this.#isPolling || this.#watched.size === 0) return;
    this.#isPolling = true;
    try {
      await this.#read([...this.#watched.keys()]);
    } catch {
      // The next poll reads again: an unreachable database ends no key.
    } finally {
      this.#isPolling = false;
    }
  }

  async #read(ids: readonly string[]): Promise<void> {
    const expiries = await this.#deps.findLive(this.#deps.pool, ids);
    const now = this.#deps.clock.now();
    for (const id of ids) {
      const expiresMs = expiries.get(id);
      if (expiresMs === MEMBERSHIP_ENDED) this.#end(id, 'MEMBERSHIP');
      else if (expiresMs === undefined || expiresMs <= now) this.#end(id, 'CREDENTIAL');
      else this.#setExpiry(id, expiresMs);
    }
  }

  /** The key may have been forgotten during the query. */
  #setExpiry(id: string, expiresMs: number): void {
    const watched = this.#watched.get(id);
    if (watched) watched.expiresMs = expiresMs;
  }

  #end(id: string, end: UseEnd): void {
    const open = [...(this.#watched.get(id)?.open ?? [])];
    this.#watched.delete(id);
    for (const use of open) use.onKeyEnd(end);
  }

  #forgetUnwatched(): void {
    for (const [id, { open }] of this.#watched) if (open.size === 0) this.#watched.delete(id);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
