import type { Clock } from '../../core/clock.ts';
import type { KeyId } from '../../core/ids.ts';
import { Roster } from '../../core/roster.ts';
import type { Db } from '../../db/pool.ts';
import { findLiveKeys } from './key-store.ts';

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
  readonly #watched = new Map<KeyId, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(deps: { pool: Db; clock: Clock }) {
    this.#deps = deps;
  }

  /** Calls `onKeyEnd` once the key is revoked or expired. `delete` it in every case. */
  add(keyId: KeyId, open: OpenUse): void {
    let watched = this.#watched.get(keyId);
    if (!watched) {
      watched = { open: new Roster(), expiresMs: Number.POSITIVE_INFINITY };
      this.#watched.set(keyId, watched);
    }
    watched.open.add(open);
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS).unref();
  }

  delete(keyId: KeyId, open: OpenUse): void {
    this.#watched.get(keyId)?.open.delete(open);
  }

  /** The key may have changed. */
  hint(keyId: string): void {
    if (this.#watched.has(keyId as KeyId)) void this.#poll();
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
    for (const [keyId, { expiresMs }] of this.#watched) if (expiresMs <= now) this.#end(keyId);
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

  async #read(keyIds: readonly KeyId[]): Promise<void> {
    const expiries = await findLiveKeys(this.#deps.pool, keyIds);
    const now = this.#deps.clock.now();
    for (const keyId of keyIds) {
      const expiresMs = expiries.get(keyId);
      if (expiresMs === undefined || expiresMs <= now) this.#end(keyId);
      else this.#setExpiry(keyId, expiresMs);
    }
  }

  /** The key may have been forgotten during the query. */
  #setExpiry(keyId: KeyId, expiresMs: number): void {
    const watched = this.#watched.get(keyId);
    if (watched) watched.expiresMs = expiresMs;
  }

  #end(keyId: KeyId): void {
    const open = [...(this.#watched.get(keyId)?.open ?? [])];
    this.#watched.delete(keyId);
    for (const use of open) use.onKeyEnd();
  }

  #forgetUnwatched(): void {
    for (const [keyId, { open }] of this.#watched) if (open.size === 0) this.#watched.delete(keyId);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
