import { CLUSTER_TYPES, type Cluster, type ClusterType } from '../domain/clusters/cluster.ts';
import type { NewCluster } from '../domain/clusters/create-cluster.ts';
import { readList, readNumber, readOneOf, readText } from './inputs.ts';
import { type CudaInput, type PodContainerInput, toCudaRule, toPodContainer } from './pod-wire.ts';

export interface ClusterInput extends PodContainerInput, CudaInput {
  clusterName?: string | null;
  type: string;
  gpuTypeId: string;
  gpuCountPerPod?: number | null;
  podCount: number;
  dataCenterId?: string | null;
  dataCenterIds?: (string | null)[] | null;
}

const TYPES = Object.fromEntries(CLUSTER_TYPES.map((type) => [type, type])) as Record<string, ClusterType>;

/** Throws `badRequest`. */
export function toNewCluster(input: ClusterInput): NewCluster {
  const listed = (input.dataCenterIds ?? []).flatMap((id) => id || []);
  return {
    ...toPodContainer(input),
    name: input.clusterName || 'cluster',
    type: readOneOf(input.type, 'type', TYPES, 'APPLICATION'),
    gpuTypeId: readText(input.gpuTypeId, 'gpuTypeId'),
    gpusPerPod: readNumber(input.gpuCountPerPod, 'gpuCountPerPod', { min: 1, fallback: 1 }),
    podCount: readNumber(input.podCount, 'podCount', { min: 2, max: 250, fallback: 0 }),
    dataCenterIds: [...new Set([...listed, ...readList(input.dataCenterId)])],
    cudaRule: toCudaRule(input),
  };
}

/** Maps to the type Cluster, without its pods. */
export function toCluster(cluster: Cluster) {
  return {
    cluster,
    id: cluster.id,
    name: cluster.name,
    type: cluster.type,
    gpuTypeId: cluster.gpuTypeId,
    gpuCountPerPod: cluster.gpusPerPod,
    podCount: cluster.podCount,
    createdAt: cluster.createdAt.toISOString(),
  };
}
