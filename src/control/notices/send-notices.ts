import { messageOf } from '../../core/errors.ts';
import { CutLoop } from '../../core/flow/cut-loop.ts';
import type { NextRun } from '../../core/flow/loop.ts';
import type { Logger } from '../../core/logger.ts';
import type { Metrics } from '../../core/metrics.ts';
import type { SecretBox } from '../../core/secret-box.ts';
import type { SeldomLog } from '../../core/seldom-log.ts';
import type { Pool } from '../../db/pool.ts';
import { checkRecipient, openDestination } from '../../domain/notices/change-destination.ts';
import type { NoticeSender } from '../../domain/notices/notice.ts';
import { type DueMessage, recordNotSent, recordSent, takeDueMessages } from '../../domain/notices/outbox.ts';

const TICK_MS = 15_000;
const MAX_AT_ONCE = 10;

interface Deps {
  pool: Pool;
  logger: Logger;
  metrics: Pick<Metrics, 'notices'>;
  secretBox: SecretBox;
  notices: NoticeSender;
}

/**
 * Sends what is in the outbox, of each destination in its order: each message until it was accepted, or for three days. A kill between the acceptance and its record
 * has it sent once more, under the same id.
 */
export function noticeCourier(deps: Deps): CutLoop {
  const runOnce = (signal: AbortSignal, log: SeldomLog) => sendDueNotices(deps, signal, log);
  return new CutLoop({ name: 'send-notices', tickMs: TICK_MS, logger: deps.logger, runOnce });
}

/** Sends a message to each destination that has one due. */
export async function sendDueNotices(
  deps: Deps,
  signal: AbortSignal,
  log: Pick<SeldomLog, 'warn'>,
): Promise<NextRun | undefined> {
  const due = await takeDueMessages(deps.pool, MAX_AT_ONCE);
  await Promise.all(due.map((message) => send(deps, message, signal, log)));
  return due.length === 0 || signal.aborted ? undefined : { inMs: 0 };
}

async function send(
  { pool, secretBox, notices, metrics }: Deps,
  { id, destinationId, userId, kind, address, sealed, items, more }: DueMessage,
  signal: AbortSignal,
  log: Pick<SeldomLog, 'warn'>,
): Promise<void> {
  try {
    await checkRecipient(pool, { kind, userId, address }, notices.mail);
    const secret = openDestination(secretBox, destinationId, sealed);
    await notices.send({ kind, address, secret }, { id: `notice-${id}`, items, more }, signal);
  } catch (error) {
    if (signal.aborted) return;
    metrics.notices.count('failed');
    log.warn({ destinationId, err: error }, 'a notice was not sent; trying again later');
    return recordNotSent(pool, id, messageOf(error));
  }
  metrics.notices.count('sent');
  await recordSent(pool, id);
}
