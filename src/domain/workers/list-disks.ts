import type { Db } from '../../db/pool.ts';

/** The disk of a running workload. `revision`: of a pod, which of its containers this is. */
export interface WorkloadDisk {
  kind: 'worker' | 'pod';
  id: string;
  diskGb: number;
  revision: number | null;
}

/** Returns the disks of running workers and pods. */
export async function listDisks(db: Db): Promise<WorkloadDisk[]> {
  const result = await db.query<WorkloadDisk>({
    name: 'workload-disks',
    text: `select 'worker' as kind, id, (spec ->> 'diskGb')::int as "diskGb", null::int as revision
           from workers where phase = 'RUNNING' and wanted <> 'STOP'
           union all
           select 'pod', id, disk_gb, revision
           from pods where gone_at is null and wanted = 'RUN' and phase = 'RUNNING' and phase_revision = revision`,
    values: [],
  });
  return result.rows;
}
