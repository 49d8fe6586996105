import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { QUOTED_FROM } from '../../domain/logs/quote-output.ts';

/** A log is stored a moment after it was printed. Later than this, the lines that are there have to do. */
const TRIES = 20;
const PAUSE_MS = 100;

/** Returns the last lines that a worker printed within `withinMs` milliseconds and before the line with `mark`, once that is stored. */
export async function logBefore(db: Db, worker: WorkerId, mark: string, withinMs: number): Promise<string[]> {
  const startedAt = performance.now();
  for (let tries = 1; ; tries++) {
    const { rows } = await db.query<{ line: string }>({
      name: 'log-of-ended-program',
      text: `select line from log_lines
             where workload_id = $1 and source = 'container' and ts >= now() - $2 * interval '1 millisecond'
             order by seq desc limit $3`,
      values: [worker, withinMs + performance.now() - startedAt, QUOTED_FROM + 1],
    });
    const at = rows.findIndex(({ line }) => line.includes(mark));
    if (at >= 0 || tries === TRIES)
      return rows
        .slice(at + 1)
        .map(({ line }) => line)
        .toReversed();
    await sleep(PAUSE_MS);
  }
}
