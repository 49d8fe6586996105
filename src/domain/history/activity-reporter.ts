import type { Clock } from '../../core/clock.ts';
import type { ActivityFigures, EndpointActivity } from '../../core/endpoint-activity.ts';
import { Loop, type NextRun } from '../../core/flow/loop.ts';
import type { EndpointId } from '../../core/ids.ts';
import { pack } from '../../core/log-histogram.ts';
import type { Logger } from '../../core/logger.ts';
import type { Db, Pool } from '../../db/pool.ts';
import { REQUEST_COLUMNS } from './history-columns.ts';

const MINUTE_MS = 60_000;
/** The leader adds reports to the history a few seconds later. */
const MARGIN_MS = 200;

/** Reports what this process measured soon after each minute, and when it stops. */
export class ActivityReporter {
  readonly #deps: { readonly pool: Pool; readonly activity: EndpointActivity; readonly clock: Clock };
  readonly #loop: Loop;

  constructor({ logger, ...deps }: { pool: Pool; activity: EndpointActivity; clock: Clock; logger: Logger }) {
    this.#deps = deps;
    this.#loop = new Loop({ name: 'report-activity', tickMs: MINUTE_MS, logger, runOnce: () => this.#report() });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await this.#report().catch(() => {}); // the database may be gone already
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async #report(): Promise<NextRun> {
    const { pool, activity, clock } = this.#deps;
    const figures = activity.take();
    try {
      if (figures.size > 0) await insertReport(pool, figures);
    } catch (error) {
      activity.restore(figures);
      throw error;
    }
    return { inMs: MINUTE_MS - (clock.now() % MINUTE_MS) + MARGIN_MS };
  }
}

/** Stores figures for the minute that most of them are from. */
async function insertReport(db: Db, figures: ReadonlyMap<EndpointId, ActivityFigures>): Promise<void> {
  const rows = [...figures].map(([id, { waits, executions, latencies, requests }]) => ({
    endpoint_id: id,
    ...Object.fromEntries(REQUEST_COLUMNS.map((name, i) => [name, requests[i]])),
    waits: pack(waits),
    executions: pack(executions),
    latencies: pack(latencies),
  }));
  await db.query({
    name: 'report-activity',
    text: `insert into history_reports (endpoint_id, starts_at, ${REQUEST_COLUMNS.join(', ')}, waits, executions, latencies)
           select endpoint_id, date_trunc('minute', now() - interval '30 s', 'UTC'), ${REQUEST_COLUMNS.join(', ')},
                  waits, executions, latencies
           from jsonb_to_recordset($1::jsonb) as r(endpoint_id text, ${REQUEST_COLUMNS.map((name) => `${name} int`).join(', ')},
             waits bigint[], executions bigint[], latencies bigint[])`,
    values: [JSON.stringify(rows)],
  });
}
