import { writeFile } from 'node:fs/promises';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { isShortage } from '../../runtimes/process/shortage.ts';

const REPORT_MS = 60_000;

/**
 * Keeps the process alive when a callback fails for lack of descriptors, disk or memory: its task fails, all else continues. Logs once a
 * minute. Any other uncaught error ends the process, as without a handler.
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

/** Half of the machine's memory less than it uses: every other program goes first, and still not at any price. */
const SERVER_OOM_SCORE = -500;
const OWN_SCORE = '/proc/self/oom_score_adj';

/**
 * Asks the kernel to spare this process, and the database and processes that it starts, when the machine runs out of memory.
 * Needs CAP_SYS_RESOURCE, as root has it; without it, workloads are still killed first, since their score is raised
 * (runtimes/oom-score.ts). False where it is not permitted, and on systems other than Linux.
 */
export async function protectFromOom(file = OWN_SCORE): Promise<boolean> {
  return writeFile(file, String(SERVER_OOM_SCORE), { flag: 'r+' }).then(
    () => true,
    () => false,
  );
}
