import type { Clock } from '../../core/clock.ts';
import { Roster } from '../../core/roster.ts';
import type { Db } from '../../db/pool.ts';
import type { UseId } from './actor.ts';
import { findLiveUses } from './key-store.ts';

/** Half of what a stream may outlive its key by, so that a lost hint is no matter. */
const POLL_MS = 1_000;

/** Something open with a key: a request, a stream, a tunnel. */
export interface OpenUse {
  onKeyEnd(): void;
  /** Its place in the roster of the key; negative at first. */
  place: number;
}

interface Watched {
  readonly open: Roster<OpenUse>;
  /** As last read; infinite for a key that never expires or was not read yet. */
  expiresMs: number;
}

/**
 * Notifies what is open (streams, held requests, tunnels) of the end of its key. While something is open, one query a second
 * reads all its keys; a hint makes it read at once. While the database is unreachable, only a known expiry ends a key.
 */
export class KeyWatch {
  readonly #deps: { pool: Db; clock: Clock };
  readonly #watched = new Map<UseId, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(deps: { pool: Db; clock: Clock }) {
    this.#deps = deps;
  }

  /** Calls `onKeyEnd` once the key is revoked or expired, or its person no longer acts as they did. `delete` it in every case. */
  add(use: UseId, open: OpenUse): void {
    let watched = this.#watched.get(use);
    if (!watched) {
      watched = { open: new Roster(), expiresMs: Number.POSITIVE_INFINITY };
      this.#watched.set(use, watched);
    }
    watched.open.add(open);
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS).unref();
  }

  delete(use: UseId, open: OpenUse): void {
    this.#watched.get(use)?.open.delete(open);
  }

  /** The key may have changed. */
  hint(keyId: string): void {
    if (this.#watched.has(keyId as UseId)) void this.#poll();
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
    for (const [use, { expiresMs }] of this.#watched) if (expiresMs <= now) this.#end(use);
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

  async #read(uses: readonly UseId[]): Promise<void> {
    const expiries = await findLiveUses(this.#deps.pool, uses);
    const now = this.#deps.clock.now();
    for (const use of uses) {
      const expiresMs = expiries.get(use);
      if (expiresMs === undefined || expiresMs <= now) this.#end(use);
      else this.#setExpiry(use, expiresMs);
    }
  }

  /** The key may have been forgotten during the query. */
  #setExpiry(use: UseId, expiresMs: number): void {
    const watched = this.#watched.get(use);
    if (watched) watched.expiresMs = expiresMs;
  }

  #end(use: UseId): void {
    const open = [...(this.#watched.get(use)?.open ?? [])];
    this.#watched.delete(use);
    for (const each of open) each.onKeyEnd();
  }

  #forgetUnwatched(): void {
    for (const [use, { open }] of this.#watched) if (open.size === 0) this.#watched.delete(use);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
