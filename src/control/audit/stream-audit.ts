import { messageOf } from '../../core/errors.ts';
import { CutLoop } from '../../core/flow/cut-loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { readPortion, recordDelivered, recordNotDelivered } from '../../domain/audit/stream-store.ts';
import type { AuditReceiver } from '../../outbound/audit-receivers.ts';

const TICK_MS = 5_000;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 300_000;

interface Deps {
  pool: Pool;
  logger: Logger;
  receiver: AuditReceiver;
}

/**
 * Sends the sealed entries of the audit log in their order, in portions, each until the receiver has accepted it: none is lost, and one may come
 * twice. How far it got is in the database. An outage of the receiver delays entries, until retention removes them.
 */
export function auditStream({ pool, logger, receiver }: Deps): CutLoop {
  const { kind } = receiver;
  return new CutLoop({
    name: `stream-audit-${kind.toLowerCase()}`,
    tickMs: TICK_MS,
    logger,
    runOnce: async (signal, log) => {
      const portion = await readPortion(pool, kind);
      if (portion.entries.length === 0) return undefined;
      try {
        await receiver.deliver(portion, signal);
      } catch (error) {
        if (signal.aborted) return undefined;
        const failures = await recordNotDelivered(pool, kind, messageOf(error));
        log.warn({ err: error, failures, kind }, 'the audit log was not sent: entries wait');
        return { inMs: Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10), MAX_PAUSE_MS) };
      }
      await recordDelivered(pool, kind, portion.entries.at(-1)!.seq);
      return { inMs: 0 };
    },
  });
}
