import { Failure } from '../../core/errors.ts';
import { type ClusterId, newId, type PodId } from '../../core/ids.ts';
import { PERMISSIONS } from '../access/permissions.ts';
import { checkBudget } from '../budgets/check-budget.ts';
import type { Stock } from '../catalog/capacity-source.ts';
import { findGpuType } from '../catalog/catalog.ts';
import { noSuchItem } from '../catalog/no-such-item.ts';
import type { Operation } from '../change.ts';
import { mergeContainer } from '../containers/merge-container.ts';
import type { ContainerConfig } from '../endpoints/endpoint.ts';
import { checkHardware, checkMounts, checkNetworkMount, checkPodContainer } from '../pods/check-pod.ts';
import { type PlacingTx, templateMounts, usePodTemplate, withTemplateRule } from '../pods/create-pod.ts';
import { findPlaceAtAll } from '../pods/place-pod.ts';
import type { PodGpu, PodMounts } from '../pods/pod.ts';
import { insertClusterPodRows } from '../pods/pod-store.ts';
import { checkGpuLimit } from '../quotas/check-limit.ts';
import type { Cluster, ClusterWithPods } from './cluster.ts';
import { getCluster, insertClusterRow } from './cluster-store.ts';

/** The container's fields and the mounts are optional: the template's, then the defaults, fill them in. */
export interface NewCluster
  extends Partial<ContainerConfig>,
    Pick<Cluster, 'name' | 'type' | 'gpuTypeId' | 'gpusPerPod' | 'podCount' | 'dataCenterIds' | 'templateId'> {
  /** CUDA versions that the driver must support. Absent: those of the template. */
  cudaRule?: Pick<PodGpu, 'allowedCudaVersions' | 'minCudaVersion'>;
  mounts?: PodMounts;
  /** Absent: what the template says, else false. */
  startSsh?: boolean;
  startJupyter?: boolean;
}

interface Prepared {
  given: PodGpu;
  cloud: 'SECURE' | 'COMMUNITY';
  stock: Stock;
}

/**
 * Stores a cluster with its pods, which wait until control finds a place for all of them at once. Throws `badRequest` if a rule
 * is broken or they would never fit, `forbidden` over a limit of the user that waiting does not lift or for a reference the
 * key may not add, and `unavailable` if the runtime does not answer.
 */
export const createCluster: Operation<PlacingTx, NewCluster, ClusterWithPods, Prepared> = {
  name: 'cluster.create',
  permission: () => PERMISSIONS.writePod({}),
  adds: ({ podCount }) => ({ record: 'pods', count: podCount }),
  async prepare({ capacity }, input) {
    const { gpuTypeId, gpusPerPod } = input;
    const given: PodGpu = { id: gpuTypeId, count: gpusPerPod, ...input.cudaRule };
    const type = findGpuType(gpuTypeId);
    if (!type) throw new Failure('badRequest', `compute.gpuTypeId: ${noSuchItem('GPU type', gpuTypeId)}`);
    checkHardware({ ...input, gpu: given, cpu: null });
    return { given, cloud: type.secure ? 'SECURE' : 'COMMUNITY', stock: await capacity.read() };
  },
  async run({ db, actor, bus }, input, { given, cloud, stock }) {
    const { gpusPerPod, podCount } = input;
    await checkBudget(db, actor.userId);
    await checkGpuLimit(db, actor.userId, gpusPerPod * podCount);
    const template = input.templateId === null ? null : await usePodTemplate(db, actor, input.templateId);
    const gpu = withTemplateRule(given, template);
    const container = mergeContainer(template, input);
    await checkPodContainer(db, actor, null, container);
    const mounts = input.mounts ?? templateMounts(template, false);
    checkMounts(mounts, false);
    const dataCenterIds = mounts.network
      ? [await checkNetworkMount(db, actor, mounts.network.volumeId, input.dataCenterIds)]
      : input.dataCenterIds;
    const wanted = { name: input.name, gpu, cpu: null, cloud, dataCenterIds, userId: actor.userId, podCount } as const;
    const { dataCenterId } = findPlaceAtAll(wanted, stock);
    const id = newId<ClusterId>();
    await insertClusterRow(db, { ...input, id, userId: actor.userId, cloud, dataCenterIds });
    const start = {
      startSsh: input.startSsh ?? template?.startSsh ?? false,
      startJupyter: input.startJupyter ?? template?.startJupyter ?? false,
    };
    const common = {
      ...start,
      cudaVersion: null,
      isLocked: false,
      hasGlobalNetwork: false,
      isPrivate: false,
      templateId: input.templateId,
    };
    await insertClusterPodRows(
      db,
      { ...wanted, ...container, ...common, mounts, dataCenterId },
      { id, podIds: Array.from({ length: podCount }, () => newId<PodId>()) },
    );
    bus.publish('cluster', id);
    return getCluster(db, actor.userId, id);
  },
  subject: (_, { id }) => id,
};
