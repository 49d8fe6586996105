import type { Static } from 'typebox';
import type { ClusterWithPods } from '../../domain/clusters/cluster.ts';
import type { NewCluster } from '../../domain/clusters/create-cluster.ts';
import { newOf } from '../../http/fields.ts';
import { toMounts } from '../pods/pod-fields.ts';
import { CONTAINER_FIELDS } from '../shared/container-fields.ts';
import { includes } from '../shared/include-query.ts';
import type { ClusterResponse, CreateClusterRequest } from './cluster-schemas.ts';

/** Fills in the defaults of a create, except those that a template may provide. */
export function toNewCluster(body: Static<typeof CreateClusterRequest>): NewCluster {
  const { name, type, compute, mounts, dataCenterIds = [], templateId = null, startSsh, startJupyter } = body;
  return {
    name,
    type,
    gpuTypeId: compute.gpuTypeId,
    gpusPerPod: compute.gpuCountPerPod,
    podCount: compute.podCount,
    ...newOf(CONTAINER_FIELDS, body),
    ...(mounts === undefined ? {} : { mounts: toMounts(mounts) }),
    dataCenterIds,
    templateId,
    ...(startSsh === undefined ? {} : { startSsh }),
    ...(startJupyter === undefined ? {} : { startJupyter }),
  };
}

/** What is not known is left out; `include=REASON` adds `reason`. */
export function toClusterResponse(
  cluster: ClusterWithPods,
  query: { include?: string } = {},
): Static<typeof ClusterResponse> {
  const { podId, status, sshEndpoint } = cluster.primary;
  return {
    id: cluster.id,
    name: cluster.name,
    type: cluster.type,
    compute: {
      gpuTypeId: cluster.gpuTypeId,
      gpuCountPerPod: cluster.gpusPerPod,
      podCount: cluster.podCount,
    },
    pods: { total: cluster.podCount, byStatus: cluster.podsByStatus },
    createdAt: cluster.createdAt.toISOString(),
    ...(cluster.templateId !== null && { template: cluster.templateId }),
    ...(cluster.dataCenterId !== null && { dataCenterId: cluster.dataCenterId }),
    ...(cluster.cidr !== null && { network: { cidr: cluster.cidr } }),
    primary: { podId, status, ...(sshEndpoint !== null && { sshEndpoint }) },
    ...(includes(query, 'REASON') && { reason: cluster.phaseReason }),
  };
}
