import type { ClusterId, PodId, UserId } from '../../core/ids.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { systemActor } from '../access/actor.ts';
import { recordEvent } from '../audit/record-event.ts';
import { withoutOutput } from '../logs/quote-output.ts';
import type { PodPhase, PodWanted } from '../pods/pod.ts';
import type { ClusterPhase, ClusterWanted } from './cluster.ts';

/** A pod of a cluster as control sees it. */
export interface ClusterMember {
  id: PodId;
  rank: number;
  wanted: PodWanted;
  phase: PodPhase;
  /** The phase is that of the wanted container, not of one before it. */
  isCurrent: boolean;
  phaseReason: string | null;
}

/** A cluster as control sees it: what is wanted, and what was observed of its pods, those that are gone excepted. */
export interface ControlledCluster {
  id: ClusterId;
  userId: UserId;
  wanted: ClusterWanted;
  phase: ClusterPhase;
  attempts: number;
  notBefore: Date | null;
  members: ClusterMember[];
}

/** Returns the clusters of all users that are not gone, deleted ones included, oldest first. */
export async function listControlledClusters(db: Db): Promise<ControlledCluster[]> {
  const { rows } = await db.query<ControlledCluster>({
    name: 'clusters-all',
    text: `select id, user_id as "userId", wanted, phase, attempts, not_before as "notBefore", coalesce((
             select json_agg(json_build_object('id', p.id, 'rank', p.cluster_rank, 'wanted', p.wanted, 'phase', p.phase,
                      'isCurrent', p.phase_revision = p.revision, 'phaseReason', p.phase_reason) order by p.cluster_rank)
             from pods p where p.cluster_id = c.id and p.gone_at is null), '[]') as members
           from clusters c where gone_at is null order by created_at, id`,
  });
  return rows;
}

/** Marks that all pods run: from here on, each heals by itself. */
export async function markClusterRunning(db: Db, id: ClusterId): Promise<void> {
  await db.query(
    `update clusters set phase = 'RUNNING', phase_reason = null, attempts = 0, not_before = null
     where id = $1 and phase = 'STARTING'`,
    [id],
  );
}

/** Gives the place of all pods back, because it does not hold them. They wait for another one until `notBefore` at least. */
export async function markClusterPutBack(db: Db, id: ClusterId, reason: string, notBefore: Date): Promise<void> {
  await db.query(
    `with cluster as (
       update clusters set phase = 'WAITING', phase_reason = $2, attempts = attempts + 1, not_before = $3,
         data_center_id = null
       where id = $1 and phase = 'STARTING' and wanted = 'RUN' returning id
     )
     update pods set wanted = 'STOP', changed_at = now() from cluster
     where cluster_id = cluster.id and wanted = 'RUN'`,
    [id, reason, notBefore],
  );
}

/** Stops all pods for good, except those that failed: they stay in ERROR, with their own reason. The audit log says so. */
export async function markClusterFailed(
  pool: Pool,
  { id, userId }: Pick<ControlledCluster, 'id' | 'userId'>,
  reason: string,
): Promise<void> {
  await transaction(pool, async (db) => {
    const name = await updateClusterFailed(db, id, reason);
    if (name === undefined) return;
    const event = { recordId: id, recordName: name, reason: withoutOutput(reason) };
    await recordEvent(db, systemActor(userId), { operation: 'cluster.fail', ...event });
  });
}

/** Returns its name; undefined if it failed or ended before. */
async function updateClusterFailed(db: Db, id: ClusterId, reason: string): Promise<string | undefined> {
  const result = await db.query<{ name: string }>(
    `with cluster as (
       update clusters set phase = 'FAILED', phase_reason = $2
       where id = $1 and phase in ('STARTING', 'RUNNING') and wanted = 'RUN' returning id, name
     ), members as (
       update pods set wanted = 'STOP', changed_at = now() from cluster
       where cluster_id = cluster.id and wanted = 'RUN' and not (phase = 'ERROR' and phase_revision = revision)
     )
     select name from cluster`,
    [id, reason],
  );
  return result.rows[0]?.name;
}

/** Marks a deleted cluster as gone: its pods and its network were removed. */
export async function markClusterGone(db: Db, id: ClusterId): Promise<void> {
  await db.query("update clusters set gone_at = now() where id = $1 and wanted = 'DELETE' and gone_at is null", [id]);
}

/** Stores where pods are on their cluster's network; an address is null where only a running pod has one. */
export async function markOnNetwork(
  db: Db,
  id: ClusterId,
  { cidr, pods }: { cidr: string | null; pods: readonly { id: PodId; ip: string | null }[] },
): Promise<void> {
  await db.query(
    `with network as (update clusters set cidr = $2 where id = $1 and cidr is distinct from $2)
     update pods set cluster_ip = given.ip from unnest($3::text[], $4::text[]) as given(id, ip)
     where pods.id = given.id and cluster_ip is distinct from given.ip`,
    [id, cidr, pods.map((pod) => pod.id), pods.map(({ ip }) => ip)],
  );
}

/** Deletes clusters that are gone, once their pods are. */
export async function deleteOldClusters(db: Db): Promise<void> {
  await db.query(
    `delete from clusters c where gone_at is not null and not exists (select from pods p where p.cluster_id = c.id)`,
  );
}
