import type { EndpointId } from '../../../core/ids.ts';
import type { Logger } from '../../../core/logger.ts';
import type { Pool } from '../../../db/pool.ts';
import type { EndpointDemand } from '../../../domain/endpoints/endpoint-demand.ts';
import { withoutOutput } from '../../../domain/logs/quote-output.ts';
import { endTrial, listUndecidedTrials } from '../../../domain/releases/trial-store.ts';
import { decideTrial } from '../../../scaling/decide-trial.ts';

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
    if (!end || !(await endTrial(pool, trial, end))) continue;
    const { id: endpointId, version } = trial;
    logger.info(
      { endpointId, version, state: end.state, reason: end.reason && withoutOutput(end.reason) },
      'trial ended',
    );
    settled.add(endpointId);
  }
  return settled;
}
