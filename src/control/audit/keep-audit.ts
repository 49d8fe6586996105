import type { Clock } from '../../core/clock.ts';
import { Loop } from '../../core/flow/loop.ts';
import type { UserId } from '../../core/ids.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { systemActor } from '../../domain/access/actor.ts';
import { ChainSealer } from '../../domain/audit/chain.ts';
import { expireEntries } from '../../domain/audit/expire-entries.ts';

/** How soon an entry is sealed, and so how long a change of it stays unnoticed at most. */
const TICK_MS = 5_000;
const EXPIRE_EVERY_MS = 60_000;
const INSTALLATION = systemActor('' as UserId);

/** Seals the audit log's entries into its chain, and removes those after `retentionMs`. Keeps nothing between terms: the table is the truth. */
export function auditLoop({
  pool,
  clock,
  logger,
  retentionMs,
}: {
  pool: Pool;
  clock: Clock;
  logger: Logger;
  retentionMs: number;
}): Loop {
  const sealer = new ChainSealer(pool);
  let expiredAt = Number.NEGATIVE_INFINITY;
  return new Loop({
    name: 'keep-audit',
    tickMs: TICK_MS,
    logger,
    runOnce: async () => {
      if ((await sealer.sealNext()).isFull) return { inMs: 0 };
      const now = clock.now();
      if (now - expiredAt < EXPIRE_EVERY_MS) return undefined;
      const expired = await expireEntries(pool, INSTALLATION, new Date(now - retentionMs));
      if (expired > 0) return { inMs: 0 };
      expiredAt = now;
      return undefined;
    },
  });
}
