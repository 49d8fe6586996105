import type { Clock } from '../../core/clock.ts';
import { Batcher } from '../../core/flow/batcher.ts';
import type { Db } from '../../db/pool.ts';

/** How exact `lastUsedAt` is, and how often a key is written at most. */
const EXACT_MS = 60_000;
const MAX_AT_ONCE = 500;

interface UseDeps {
  pool: Db;
  clock: Clock;
  /** Records that these were used now. */
  updateUsed(db: Db, ids: readonly string[]): Promise<void>;
}

/**
 * Records when keys or sessions are used, beside the requests that use them. A key ring looks a used key up every few seconds, so that
 * nothing has to be done per request. What cannot be written is not: the next look-up tries again.
 */
export class SecretUse {
  readonly #clock: Clock;
  readonly #writes: Batcher<string, undefined>;

  constructor({ pool, clock, updateUsed }: UseDeps) {
    this.#clock = clock;
    this.#writes = new Batcher({
      lanes: 1,
      maxSize: MAX_AT_ONCE,
      isCallFault: () => false,
      flush: async (ids) => {
        await updateUsed(pool, [...new Set(ids)]);
        return ids.map(() => undefined);
      },
    });
  }

  /** Records the use of a key that was just read. */
  note({ id, lastUsedAt }: { id: string; lastUsedAt: Date | null }): void {
    if (lastUsedAt !== null && this.#clock.now() - lastUsedAt.getTime() < EXACT_MS) return;
    this.#writes.run(id).catch(() => {});
  }
}
