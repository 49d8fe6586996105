import type { UserId, VolumeId } from '../../core/ids.ts';
import { type Db, foundRow, type RowLock } from '../../db/pool.ts';
import type { Volume } from './volume.ts';

const COLUMNS = `id, user_id as "userId", name, size_gb as "sizeGb", data_center_id as "dataCenterId", type, used_bytes as "usedBytes"`;

/** Returns the user's volumes, oldest first. */
export async function listVolumeRows(db: Db, userId: UserId): Promise<(Volume & { createdAt: Date })[]> {
  const result = await db.query<Volume & { createdAt: Date }>(
    `select ${COLUMNS}, created_at as "createdAt" from network_volumes where user_id = $1 order by created_at, id`,
    [userId],
  );
  return result.rows;
}

/** Throws `notFound` if the user has no such volume. */
export async function getVolumeRow(db: Db, userId: UserId, id: VolumeId, lock: RowLock = ''): Promise<Volume> {
  return foundRow(
    await db.query<Volume>(`select ${COLUMNS} from network_volumes where id = $1 and user_id = $2 ${lock}`, [
      id,
      userId,
    ]),
    'Network volume',
  );
}

export interface OwnedVolume {
  userId: UserId;
  id: VolumeId;
}

/** Returns a volume for each that is asked for, in this order; undefined if the user has no such volume. */
export async function findVolumeRows(db: Db, wanted: readonly OwnedVolume[]): Promise<(Volume | undefined)[]> {
  const { rows } = await db.query<Volume>({
    name: 'volumes-by-id',
    text: `select ${COLUMNS} from network_volumes where id = any($1::text[])`,
    values: [[...new Set(wanted.map(({ id }) => id))]],
  });
  const byId = new Map(rows.map((row) => [row.id, row]));
  return wanted.map(({ userId, id }) => {
    const row = byId.get(id);
    return row?.userId === userId ? row : undefined;
  });
}

/** Returns those of these volumes that exist, of any owner. */
export async function listVolumesWithIds(db: Db, ids: readonly string[]): Promise<Volume[]> {
  return (await db.query<Volume>(`select ${COLUMNS} from network_volumes where id = any($1::text[])`, [ids])).rows;
}

export async function insertVolumeRow(db: Db, volume: Volume): Promise<void> {
  await db.query(
    'insert into network_volumes (id, user_id, name, size_gb, data_center_id, type) values ($1, $2, $3, $4, $5, $6)',
    [volume.id, volume.userId, volume.name, volume.sizeGb, volume.dataCenterId, volume.type],
  );
}

export async function updateVolumeRow(db: Db, volume: Volume): Promise<void> {
  await db.query('update network_volumes set name = $3, size_gb = $4 where id = $1 and user_id = $2', [
    volume.id,
    volume.userId,
    volume.name,
    volume.sizeGb,
  ]);
}

/** Deletes the row and queues the removal of the files for control. */
export async function deleteVolumeRow(db: Db, userId: UserId, id: VolumeId): Promise<void> {
  await db.query(
    `with gone as (delete from network_volumes where id = $1 and user_id = $2 returning id, data_center_id)
     insert into volume_removals (volume_id, data_center_id) select id, data_center_id from gone`,
    [id, userId],
  );
}

/**
 * Returns what mounts it, for messages (`endpoint 'hello'`): an endpoint that lists it, a live worker of a release that did,
 * or a pod, even a terminated one until its container is gone.
 */
export async function findVolumeUse(db: Db, userId: UserId, id: VolumeId): Promise<string | undefined> {
  const result = await db.query<{ use: string }>(
    `select format('endpoint ''%s''', name) as use from endpoints
     where user_id = $1 and network_volume_ids @> array[$2::text]
     union all
     select format('worker ''%s''', id) from workers
     where user_id = $1 and phase <> 'EXITED' and spec -> 'networkVolumeIds' ? $2
     union all
     select format('pod ''%s''', name) from pods
     where user_id = $1 and network_volume_id = $2 and gone_at is null
       and (wanted <> 'TERMINATE' or phase in ('STARTING', 'RUNNING'))
     limit 1`,
    [userId, id],
  );
  return result.rows[0]?.use;
}

/** Returns the user's volumes with these ids, in their order. */
export async function listVolumesById(db: Db, userId: UserId, ids: readonly string[]): Promise<Volume[]> {
  const result = await db.query<Volume>(
    `select ${COLUMNS} from network_volumes where user_id = $1 and id = any($2::text[]) order by array_position($2, id)`,
    [userId, ids],
  );
  return result.rows;
}
