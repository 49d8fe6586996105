import type { EndpointId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import { NO_OPTIONS, type WorkloadOptions } from './workload-options.ts';

/** Returns an endpoint's options; none if it has not set any. The caller checks ownership. */
export async function readWorkloadOptions(db: Db, endpointId: EndpointId): Promise<WorkloadOptions> {
  const { rows } = await db.query<WorkloadOptions>(
    `select labels, annotations, cpus_per_gpu as "cpusPerGpu", memory_gb_per_gpu as "memoryGbPerGpu"
     from endpoint_workload_options where endpoint_id = $1`,
    [endpointId],
  );
  return rows[0] ?? NO_OPTIONS;
}

export async function upsertWorkloadOptions(db: Db, endpointId: EndpointId, options: WorkloadOptions): Promise<void> {
  const { labels, annotations, cpusPerGpu, memoryGbPerGpu } = options;
  await db.query(
    `insert into endpoint_workload_options (endpoint_id, labels, annotations, cpus_per_gpu, memory_gb_per_gpu)
     values ($1, $2, $3, $4, $5)
     on conflict (endpoint_id) do update
     set labels = $2, annotations = $3, cpus_per_gpu = $4, memory_gb_per_gpu = $5, updated_at = now()`,
    [endpointId, JSON.stringify(labels), JSON.stringify(annotations), cpusPerGpu, memoryGbPerGpu],
  );
}
