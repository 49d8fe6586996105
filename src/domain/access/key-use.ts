import type { Clock } from '../../core/clock.ts';
import { Batcher } from '../../core/flow/batcher.ts';
import type { Db } from '../../db/pool.ts';
import { type ApiKey, updateKeysUsed } from './key-store.ts';

/** How exact `lastUsedAt` is, and how often a key is written at most. */
const EXACT_MS = 60_000;
const MAX_AT_ONCE = 500;

/**
 * Records when keys are used, beside the requests that use them. A key ring looks a used key up every few seconds, so that
 * nothing has to be done per request. What cannot be written is not: the next look-up tries again.
 */
export class KeyUse {
  readonly #clock: Clock;
  readonly #writes: Batcher<ApiKey['id'], undefined>;

  constructor({ pool, clock }: { pool: Db; clock: Clock }) {
    this.#clock = clock;
    this.#writes = new Batcher({
      lanes: 1,
      maxSize: MAX_AT_ONCE,
      isCallFault: () => false,
      flush: async (ids) => {
        await updateKeysUsed(pool, [...new Set(ids)]);
        return ids.map(() => undefined);
      },
    });
  }

  /** Records the use of a key that was just read. */
  note({ id, lastUsedAt }: Pick<ApiKey, 'id' | 'lastUsedAt'>): void {
    if (lastUsedAt !== null && this.#clock.now() - lastUsedAt.getTime() < EXACT_MS) return;
    this.#writes.run(id).catch(() => {});
  }
}
