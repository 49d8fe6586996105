import type { WorkloadOptionRules } from '../../config/workload-option-settings.ts';
import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { transaction } from '../../db/pool.ts';
import type { Actor } from '../access/actor.ts';
import type { Context } from '../context.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { refusalOf, type WorkloadOptions } from './workload-options.ts';
import { upsertWorkloadOptions } from './workload-options-store.ts';

/** Replaces an endpoint's options, for workers that start from now on. Throws `notFound`, and `badRequest` for what is not permitted. */
export async function replaceWorkloadOptions(
  { pool }: Context,
  actor: Actor,
  endpointId: EndpointId,
  options: WorkloadOptions,
  rules: WorkloadOptionRules,
): Promise<void> {
  await transaction(pool, async (db) => {
    const { gpu } = await getEndpointRow(db, actor.userId, endpointId, 'for update');
    const refusal = refusalOf(options, rules);
    if (refusal !== null) throw new Failure('badRequest', refusal);
    if (gpu === null && (options.cpusPerGpu !== null || options.memoryGbPerGpu !== null)) {
      throw new Failure('badRequest', 'a CPU endpoint has no GPUs: its CPU flavor says what a worker gets');
    }
    await upsertWorkloadOptions(db, endpointId, options);
  });
}
