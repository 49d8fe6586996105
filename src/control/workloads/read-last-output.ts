import { monotonicClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import { withTimeout } from '../../core/flow/with-timeout.ts';
import type { Logger } from '../../core/logger.ts';
import type { Pool } from '../../db/pool.ts';
import { QUOTED_FROM } from '../../domain/logs/quote-output.ts';
import { searchLog } from '../../domain/logs/search-log.ts';
import type { Runtime } from '../../runtimes/runtime.ts';

/** A slow engine must not delay the replacement of a worker. */
const TIMEOUT_MS = 2_000;

export interface LastOutputDeps {
  pool: Pool;
  logger: Logger;
  runtime: Pick<Runtime, 'lastOutput'>;
}

/**
 * Returns the last lines that a workload printed, for the reason of its end: those of its stderr, from the runtime while its
 * container is there; else those of the stored log. Never throws: a reason without them is better than none.
 */
export async function readLastOutput({ pool, logger, runtime }: LastOutputDeps, workloadId: string): Promise<string[]> {
  try {
    const late = () => new Error(`no answer within ${TIMEOUT_MS / 1000} s`);
    const lines = await withTimeout(runtime.lastOutput(workloadId, QUOTED_FROM), TIMEOUT_MS, late);
    if (lines.length > 0) return lines;
  } catch (error) {
    logger.warn({ workloadId, err: error }, `reading the last output failed: ${messageOf(error)}`);
  }
  const last = { order: 'newest', limit: QUOTED_FROM } as const;
  const stored = await searchLog(
    { db: pool, clock: monotonicClock },
    { scope: { workloadId }, filter: { source: 'container' }, ...last },
  ).catch(() => ({ lines: [] }));
  return stored.lines.toReversed().map(({ line }) => line);
}
