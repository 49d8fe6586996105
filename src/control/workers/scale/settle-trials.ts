import type { EndpointId, UserId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import { type Pool, transaction } from '../../../db/pool.ts';
import { systemActor } from '../../../domain/access/actor.ts';
import { recordEvent } from '../../../domain/audit/record-event.ts';
import type { EndpointDemand } from '../../../domain/endpoints/endpoint-demand.ts';
import { withoutOutput } from '../../../domain/logs/quote-output.ts';
import { endTrial, listUndecidedTrials, type UndecidedTrial } from '../../../domain/releases/trial-store.ts';
import { decideTrial, type TrialEnd } from '../../../scaling/decide-trial.ts';

/** Ends the trials of these endpoints that are over. Returns the endpoints whose demand has to be read again. */
export async function settleTrials(
  { pool, logger }: { pool: Pool; logger: Logger },
  demands: readonly Pick<EndpointDemand, 'id' | 'trial'>[],
): Promise<ReadonlySet<EndpointId>> {
  const settled = new Set<EndpointId>();
  const ids = demands.flatMap(({ id, trial }) => (trial === null ? [] : [id]));
  if (ids.length === 0) return settled;
  for (const { state, ...trial } of await listUndecidedTrials(pool, ids)) {
    const end = decideTrial(state, trial);
    if (!end || !(await storeEnd(pool, trial, end))) continue;
    const { id: endpointId, version } = trial;
    logger.info(
      { endpointId, version, state: end.state, reason: end.reason && withoutOutput(end.reason) },
      'trial ended',
    );
    settled.add(endpointId);
  }
  return settled;
}

/** A release that failed is a decision of Podyard's against what somebody asked for, and has an entry in the audit log. */
function storeEnd(pool: Pool, trial: Omit<UndecidedTrial, 'state'>, end: TrialEnd): Promise<boolean> {
  return transaction(pool, async (db) => {
    if (!(await endTrial(db, trial, end))) return false;
    if (end.state !== 'FAILED') return true;
    const { rows } = await db.query<{ userId: UserId; name: string }>(
      'select user_id as "userId", name from endpoints where id = $1',
      [trial.id],
    );
    const { userId, name } = rows[0]!; // locked by the statement before
    await recordEvent(db, systemActor(userId), {
      operation: 'endpoint.fail-trial',
      recordId: trial.id,
      recordName: name,
      reason: `version ${trial.version} failed its trial: ${withoutOutput(end.reason)}`,
    });
    return true;
  });
}
