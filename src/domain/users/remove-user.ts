/**
 * Deletes a user with everything they own, in steps that each commit or not: whatever stops it, the next run continues. Workers and
 * containers end first, then storage is deleted, then the rest, and the user last.
 */
import { Failure } from '../../core/errors.ts';
import type { ClusterId, UserId, VolumeId, WorkerId } from '../../core/ids.ts';
import { type Db, transaction } from '../../db/pool.ts';
import { sqlState } from '../../db/sql-state.ts';
import { systemActor } from '../access/actor.ts';
import { change } from '../change.ts';
import { deleteCluster } from '../clusters/change-cluster.ts';
import type { Context } from '../context.ts';
import { deleteEndpoint } from '../endpoints/delete-endpoint.ts';
import { listEndpointIds } from '../endpoints/endpoint-store.ts';
import { cancelJobsOfGone } from '../jobs/cancel-jobs.ts';
import { terminatePodsOfUser } from '../pods/pod-lifecycle.ts';
import { deleteVolumeRow } from '../volumes/volume-store.ts';
import { type Remaining, readRemaining } from './removal-progress.ts';

const LOG_SLICE = 20_000;
const FOREIGN_KEY_VIOLATION = '23503';

/** Returns the users who are being deleted, in the order of the requests. Served by `users_removing_at`. */
export async function listRemovedUsers(db: Db): Promise<UserId[]> {
  const { rows } = await db.query<{ id: UserId }>(
    'select id from users where removing_at is not null order by removing_at, id',
  );
  return rows.map(({ id }) => id);
}

/** Does what can be done now. Returns what is left; null: the user is deleted. `isStopped`: true ends it after a step. */
export async function removeUser(
  context: Context,
  id: UserId,
  isStopped: () => boolean = () => false,
): Promise<Remaining | null> {
  const { pool } = context;
  await giveUpHandedOver(context, id);
  const hasEnded = await endWorkloads(context, id, isStopped);
  const left = await readRemaining(pool, id);
  if (hasEnded || isStopped()) return left; // jobs that were being stored are there by the next run
  await cancelJobsOfGone(pool);
  if (left.endpoints + left.workers > 0 || (await hasContainers(pool, id))) return left;
  await deleteStorage(context, id);
  await deleteRecords(pool, id);
  await deleteTraces(pool, id);
  return (await deleteUserRow(context, id)) ? null : readRemaining(pool, id);
}

/** A worker that was being added to an endpoint while that was handed over was added for the former user. */
async function giveUpHandedOver({ pool, bus }: Context, id: UserId): Promise<void> {
  const { rows } = await pool.query<{ id: WorkerId }>(
    `with late as (
       update workers w set user_id = e.user_id from endpoints e
       where w.user_id = $1 and w.phase <> 'EXITED' and e.id = w.endpoint_id and e.user_id <> $1 returning w.id, w.user_id
     ), keys as (
       update api_keys k set user_id = late.user_id from late where k.id = late.id and k.workload is not null
     )
     select id from late`,
    [id],
  );
  for (const worker of rows) bus.publish('worker', worker.id);
}

/** Returns true if there were endpoints to delete. */
async function endWorkloads(context: Context, id: UserId, isStopped: () => boolean): Promise<boolean> {
  const { pool, bus } = context;
  const owner = systemActor(id);
  const endpointIds = await listEndpointIds(pool, id);
  for (const endpointId of endpointIds) {
    if (isStopped()) return true;
    await unlessGone(change(context, owner, deleteEndpoint, { id: endpointId }));
  }
  const clusters = await pool.query<{ id: ClusterId }>(
    "select id from clusters where user_id = $1 and wanted <> 'DELETE' order by id",
    [id],
  );
  for (const cluster of clusters.rows) await unlessGone(change(context, owner, deleteCluster, { id: cluster.id }));
  const end = { userId: id, by: owner, reason: 'its user is being deleted' };
  const podIds = await transaction(pool, (db) => terminatePodsOfUser(db, end));
  for (const podId of podIds) bus.publish('pod', podId);
  return endpointIds.length > 0;
}

/** A request of the last moment may have deleted it too. */
async function unlessGone(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof Failure && error.kind === 'notFound')) throw error;
  });
}

async function hasContainers(db: Db, id: UserId): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>(
    `select exists (select from pods where user_id = $1 and gone_at is null)
         or exists (select from clusters where user_id = $1 and gone_at is null) as has`,
    [id],
  );
  return rows[0]!.has;
}

/** The files are deleted by the volume keeper, which continues after a crash as well. */
async function deleteStorage({ pool, bus }: Context, id: UserId): Promise<void> {
  const { rows } = await pool.query<{ id: VolumeId }>('select id from network_volumes where user_id = $1', [id]);
  for (const volume of rows) {
    await deleteVolumeRow(pool, id, volume.id);
    bus.publish('volume', volume.id);
  }
}

async function deleteRecords(db: Db, id: UserId): Promise<void> {
  for (const table of ['secrets', 'templates', 'registries', 'registry_delegations', 'log_usage']) {
    await db.query(`delete from ${table} where user_id = $1`, [id]);
  }
}

/** Ended workers and pods with their logs, as far as they are metered: what was used stays in the books. */
async function deleteTraces(db: Db, id: UserId): Promise<void> {
  const ended = `
    select id from workers where user_id = $1 and phase = 'EXITED' and exited_at <= (select metered_until from usage_meter)
    union all
    select id from pods where user_id = $1 and gone_at <= (select metered_until from usage_meter)`;
  // Log lines outlive the records of ended workers and pods; the books keep their endpoints and pods.
  const billed = (kind: string) => `select resource_id from usage_days where user_id = $1 and kind = '${kind}'`;
  await deleteLogLines(db, id, `workload_id in (${ended} union all ${billed('POD')})`);
  await deleteLogLines(db, id, `endpoint_id in (${billed('SERVERLESS')} except select id from endpoints)`);
  for (const table of ['workers', 'pods']) await db.query(`delete from ${table} where id in (${ended})`, [id]);
  await db.query(
    `delete from clusters c where user_id = $1 and gone_at is not null
       and not exists (select from pods p where p.cluster_id = c.id)`,
    [id],
  );
}

async function deleteLogLines(db: Db, id: UserId, condition: string): Promise<void> {
  for (let deleted = LOG_SLICE; deleted === LOG_SLICE; ) {
    const lines = await db.query(
      `delete from log_lines l using (
         select workload_id, seq from log_lines where ${condition} limit ${LOG_SLICE}) as old
       where l.workload_id = old.workload_id and l.seq = old.seq`,
      [id],
    );
    deleted = lines.rowCount ?? 0;
  }
}

/** False while something refers to the user: an unmetered worker or pod, or what a request of the last moment created. */
async function deleteUserRow({ pool, bus }: Context, id: UserId): Promise<boolean> {
  const isDeleted = await transaction(pool, async (db) => {
    const result = await db.query(
      `delete from users where id = $1 and removing_at is not null and not exists (select from workers where user_id = $1)`,
      [id],
    );
    return result.rowCount === 1;
  }).catch((error: unknown) => {
    if (sqlState(error) !== FOREIGN_KEY_VIOLATION) throw error;
    return false;
  });
  if (isDeleted) bus.publish('user', id);
  return isDeleted;
}
