import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { withoutOutput } from '../logs/quote-output.ts';
import { NO_CAPACITY } from './worker-status.ts';

interface Condition {
  phase: string;
  phaseReason: string | null;
  isWanted: boolean;
  wasReady: boolean;
  isServing: boolean;
  isLost: boolean;
}

/**
 * Returns why no worker of an endpoint takes a request, as the end of a sentence. Includes the workers' output only for readers of their
 * logs.
 */
export async function explainWaiting(db: Db, endpointId: EndpointId, mayReadLog: boolean): Promise<string> {
  const why = await explain(db, endpointId, mayReadLog);
  return mayReadLog ? why : withoutOutput(why);
}

async function explain(db: Db, endpointId: EndpointId, mayReadLog: boolean): Promise<string> {
  const result = await db.query<Condition>(
    `select phase, phase_reason as "phaseReason", wanted = 'RUN' as "isWanted", ready_at is not null as "wasReady",
            serving_at is not null as "isServing", is_lost as "isLost"
     from workers where endpoint_id = $1 and phase <> 'EXITED' order by created_at`,
    [endpointId],
  );
  const wanted = result.rows.filter(({ isWanted }) => isWanted);
  const throttled = wanted.find(
    ({ phase, phaseReason }) => phase !== 'RUNNING' && phaseReason?.startsWith(NO_CAPACITY),
  );
  if (throttled) return throttled.phaseReason!;
  const unhealthy = wanted.find(
    ({ isLost, wasReady, isServing, phaseReason }) => phaseReason && (isLost || (wasReady && !isServing)),
  );
  if (unhealthy) {
    const why = `its worker is unhealthy: ${unhealthy.phaseReason}`;
    return mayReadLog && withoutOutput(why) === why ? why + (await findLastLine(db, endpointId)) : why;
  }
  const lost = await findLastFailure(db, endpointId);
  if (wanted.some(({ isServing }) => isServing)) return 'its workers are at their concurrency limit';
  if (lost) return `the last start failed: ${lost}`;
  if (wanted.length > 0) return `its worker is still starting${mayReadLog ? await findLastLine(db, endpointId) : ''}`;
  return (await findUserCut(db, endpointId)) ?? 'it has no worker';
}

/** Returns why a limit of the user keeps the endpoint from more workers, as its last decision said; null if none did. */
async function findUserCut(db: Db, endpointId: EndpointId): Promise<string | null> {
  const result = await db.query<{ reason: string; isCut: boolean }>(
    `select reason, inputs ? 'userCut' as "isCut" from scaling_decisions where endpoint_id = $1
     order by id desc limit 1`,
    [endpointId],
  );
  const last = result.rows[0];
  return last?.isCut ? last.reason : null;
}

/** Returns why the worker that ended last failed, if it failed before it was ready. */
export async function findLastFailure(db: Db, endpointId: EndpointId): Promise<string | null> {
  const result = await db.query<{ reason: string | null }>(
    `select case when is_lost and ready_at is null then phase_reason end as reason
     from workers where endpoint_id = $1 and phase = 'EXITED' order by exited_at desc limit 1`,
    [endpointId],
  );
  return result.rows[0]?.reason ?? null;
}

/** Returns the last line that a worker of the endpoint printed, as the end of a sentence. */
async function findLastLine(db: Db, endpointId: EndpointId): Promise<string> {
  const result = await db.query<{ line: string }>(
    `select l.line from (select id from workers where endpoint_id = $1 order by created_at desc limit 3) w
     cross join lateral (
       select seq, line from log_lines where workload_id = w.id and source = 'container' and line <> ''
       order by seq desc limit 1) l
     order by l.seq desc limit 1`,
    [endpointId],
  );
  const line = result.rows[0]?.line;
  return line === undefined ? '' : `; its last log line: ${line.slice(0, 500)}`;
}
