import type { Db } from '../../db/pool.ts';

/** A network volume or the persistent storage of a pod, with the live workloads that mount it. */
export type MeasuredStorage = { id: string; name: string; sizeGb: number; workloadIds: string[] } & (
  | { kind: 'volume'; dataCenterId: string; usedBytes: number }
  | { kind: 'pod' }
);

/** Returns all storage of all users. */
export async function listMeasuredStorage(db: Db): Promise<MeasuredStorage[]> {
  const result = await db.query<MeasuredStorage>(
    `select 'volume' as kind, v.id, v.name, v.size_gb as "sizeGb", v.data_center_id as "dataCenterId",
       v.used_bytes as "usedBytes",
       array(select w.id from workers w where w.user_id = v.user_id and w.phase in ('STARTING', 'RUNNING')
               and w.spec -> 'networkVolumeIds' ? v.id
             union all
             select p.id from pods p where p.user_id = v.user_id and p.network_volume_id = v.id and p.phase = 'RUNNING'
               and p.gone_at is null) as "workloadIds"
     from network_volumes v
     union all
     select 'pod', id, name, persistent_size_gb, data_center_id, 0, array[id] from pods
     where persistent_size_gb is not null and gone_at is null
     order by 1, 2`,
  );
  return result.rows;
}

export async function updateVolumeUsage(db: Db, id: string, usedBytes: number): Promise<void> {
  await db.query('update network_volumes set used_bytes = $2 where id = $1', [id, usedBytes]);
}

/** Returns deleted volumes whose files still exist. */
export async function listVolumeRemovals(db: Db): Promise<{ id: string; dataCenterId: string }[]> {
  const result = await db.query<{ id: string; dataCenterId: string }>(
    'select volume_id as id, data_center_id as "dataCenterId" from volume_removals order by deleted_at',
  );
  return result.rows;
}

export async function deleteVolumeRemoval(db: Db, id: string): Promise<void> {
  await db.query('delete from volume_removals where volume_id = $1', [id]);
}
