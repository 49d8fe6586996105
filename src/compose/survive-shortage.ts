import { messageOf } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { isShortage } from '../core/shortage.ts';

const REPORT_MS = 60_000;

/**
 * Keeps the process alive when a callback fails for want of descriptors, disk or memory: what it was about fails, all else
 * continues. Logs once a minute. Any other uncaught error ends the process, as without a handler.
 */
export function surviveShortage(logger: Logger): void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  process.on('uncaughtException', (error) => {
    if (!isShortage(error)) {
      console.error(error);
      process.exit(1);
    }
    const now = performance.now();
    if (now - reportedAt < REPORT_MS) return;
    reportedAt = now;
    try {
      logger.error({ err: error }, `short of a resource: ${messageOf(error)}`);
    } catch {
      // the log itself may be on the full disk
    }
  });
}
