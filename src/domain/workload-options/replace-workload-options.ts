import type { WorkloadOptionRules } from '../../config/workload-option-settings.ts';
import { Failure } from '../../core/errors.ts';
import type { EndpointId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import type { Operation, Tx } from '../change.ts';
import { getEndpointRow } from '../endpoints/endpoint-store.ts';
import { refusalOf, type WorkloadOptions } from './workload-options.ts';
import { upsertWorkloadOptions } from './workload-options-store.ts';

/** Replaces an endpoint's options, for workers that start from now on. Throws `notFound`, and `badRequest` for what is not permitted. */
export const replaceWorkloadOptions: Operation<
  Tx & { workloadOptions: WorkloadOptionRules },
  { id: EndpointId; options: WorkloadOptions },
  void
> = {
  name: 'endpoint.replace-workload-options',
  permission: PERMISSIONS.writeEndpoint,
  async run({ db, actor, workloadOptions }, { id, options }) {
    const { gpu } = await getEndpointRow(db, actor.userId, id, 'for update');
    const refusal = refusalOf(options, workloadOptions);
    if (refusal !== null) throw new Failure('badRequest', refusal);
    if (gpu === null && (options.cpusPerGpu !== null || options.memoryGbPerGpu !== null)) {
      throw new Failure('badRequest', 'a CPU endpoint has no GPUs: its CPU flavor says what a worker gets');
    }
    await upsertWorkloadOptions(db, id, options);
  },
  subject: ({ id }) => id,
};
