import type { PodId, UserId } from '../../core/ids.ts';
import type { Db } from '../../db/pool.ts';
import type { ContainerConfig, CpuConfig } from '../endpoints/endpoint.ts';
import type { Cloud, PodCondition, PodMounts, PodPort } from './pod.ts';

/** A pod as control sees it: what is wanted, what was observed, and what a start needs. */
export interface ControlledPod extends ContainerConfig, PodCondition {
  id: PodId;
  userId: UserId;
  gpu: { id: string; count: number } | null;
  gpuPool: string | null;
  cpu: CpuConfig | null;
  cloud: Cloud;
  dataCenterId: string;
  mounts: PodMounts;
  failures: number;
  notBefore: Date | null;
  startedAt: Date | null;
  address: string | null;
  publishedPorts: PodPort[];
}

interface ControlledPodRow extends Omit<ControlledPod, 'gpu' | 'mounts'> {
  gpuTypeId: string | null;
  gpuCount: number | null;
  persistentSizeGb: number | null;
  persistentPath: string | null;
  networkVolumeId: string | null;
  networkVolumePath: string | null;
}

/** All that are not gone, terminated ones included, oldest first. Names no user: control serves all. */
export async function listControlledPods(db: Db): Promise<ControlledPod[]> {
  const result = await db.query<ControlledPodRow>({
    name: 'pods-all',
    text: `select id, user_id as "userId", image, args, disk_gb as "diskGb", ports, env, registry_id as "registryId",
             gpu_type_id as "gpuTypeId", gpu_count as "gpuCount", gpu_pool as "gpuPool", cpu, cloud,
             data_center_id as "dataCenterId", persistent_size_gb as "persistentSizeGb",
             persistent_path as "persistentPath", network_volume_id as "networkVolumeId",
             network_volume_path as "networkVolumePath", wanted, revision, phase, phase_revision as "phaseRevision",
             failures, not_before as "notBefore", started_at as "startedAt", address, published_ports as "publishedPorts"
           from pods where gone_at is null order by created_at, id`,
    values: [],
  });
  return result.rows.map(toControlledPod);
}

function toControlledPod(row: ControlledPodRow): ControlledPod {
  const { gpuTypeId, gpuCount, persistentSizeGb, persistentPath, networkVolumeId, networkVolumePath, ...pod } = row;
  return {
    ...pod,
    gpu: gpuTypeId === null ? null : { id: gpuTypeId, count: gpuCount! },
    mounts: {
      persistent: persistentPath === null ? null : { sizeGb: persistentSizeGb!, path: persistentPath },
      network: networkVolumePath === null ? null : { volumeId: networkVolumeId!, path: networkVolumePath },
    },
  };
}

/** The end of the run that is open, if one is; a part of the statements below. `$1` is the pod. */
const CLOSE_RUN = (endedAt: string) =>
  `run as (update pod_runs set ended_at = greatest(started_at, ${endedAt}) where pod_id = $1 and ended_at is null)`;

/**
 * The container of this revision is on its way, and none of an older one is left. False when something else is wanted
 * by now.
 */
export async function notePodPhase(
  db: Db,
  { id, revision }: ControlledPod,
  phase: 'PROVISIONING' | 'STARTING',
): Promise<boolean> {
  const result = await db.query(
    `with ${CLOSE_RUN('clock_timestamp()')}
     update pods set phase = $3, phase_revision = $2, phase_reason = null, not_before = null, address = null,
       published_ports = '[]', changed_at = now(), failures = case when phase_revision = $2 then failures else 0 end
     where id = $1 and revision = $2 and wanted = 'RUN' and gone_at is null`,
    [id, revision, phase],
  );
  return result.rowCount === 1;
}

/** Its container runs. From here on it costs, until a later note of this file says that it has ended. */
export async function notePodRunning(
  db: Db,
  { id, revision }: ControlledPod,
  found: { address: string | null; publishedPorts: readonly PodPort[] },
): Promise<void> {
  await db.query(
    `with run as (
       insert into pod_runs (pod_id, revision, user_id, tariff, gpu_type, gpu_count, cpu_flavor, vcpus, disk_gb)
       select id, $2, user_id, cloud, gpu_type_id, coalesce(gpu_count, 0), cpu ->> 'id',
              coalesce((cpu ->> 'vcpuCount')::int, 0), disk_gb
       from pods where id = $1 and not exists (select from pod_runs where pod_id = $1 and ended_at is null)
     )
     update pods set phase = 'RUNNING', phase_revision = $2, phase_reason = null, address = $3, published_ports = $4,
       started_at = case when phase = 'RUNNING' then started_at else now() end, changed_at = now()
     where id = $1`,
    [id, revision, found.address, JSON.stringify(found.publishedPorts)],
  );
}

/** Its container has ended or could not be started; `endedAt` null: just now. */
export async function notePodEnd(
  db: Db,
  { id, revision }: ControlledPod,
  end: {
    phase: 'STARTING' | 'EXITED' | 'ERROR';
    reason: string | null;
    endedAt: Date | null;
    failures: number;
    notBefore: Date | null;
  },
): Promise<void> {
  await db.query(
    `with ${CLOSE_RUN('coalesce($7::timestamptz, clock_timestamp())')}
     update pods set phase = $3, phase_revision = $2, phase_reason = $4, failures = $5, not_before = $6, address = null,
       published_ports = '[]', changed_at = now()
     where id = $1`,
    [id, revision, end.phase, end.reason, end.failures, end.notBefore, end.endedAt],
  );
}

/** A terminated pod is gone with all that it had. */
export async function notePodGone(db: Db, id: PodId): Promise<void> {
  await db.query(
    `with ${CLOSE_RUN('clock_timestamp()')}
     update pods set phase = 'EXITED', address = null, published_ports = '[]', gone_at = now()
     where id = $1 and gone_at is null`,
    [id],
  );
}

/** Forgets what is gone and metered. */
export async function deleteOldPods(db: Db, goneBefore: Date): Promise<void> {
  await db.query(
    `with metered as (select least(metered_until, $1) as until from usage_meter),
          runs as (delete from pod_runs where ended_at < (select until from metered))
     delete from pods where gone_at < (select until from metered)`,
    [goneBefore],
  );
}
