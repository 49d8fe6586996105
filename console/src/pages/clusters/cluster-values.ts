import type { Schemas } from '../../api/client.ts';
import {
  CONTAINER_FIELDS,
  type ContainerValues,
  containerBody,
  NEW_CONTAINER,
} from '../../ui/forms/container-values.ts';
import { enumLabel } from '../../ui/text/enum-label.ts';
import { mountsBody, type PodValues } from '../pods/pod-values.ts';

export type Cluster = Schemas['Cluster'];

export interface ClusterValues extends ContainerValues, Pick<PodValues, 'gpu' | 'start' | 'mount'> {
  name: string;
  type: Cluster['type'];
  podCount: number;
}

export const CLUSTER_TYPES: readonly Cluster['type'][] = ['APPLICATION', 'TRAINING', 'SLURM', 'RAY'];

export const NEW_CLUSTER: ClusterValues = {
  name: '',
  type: 'APPLICATION',
  ...NEW_CONTAINER,
  gpu: { id: '', count: 1 },
  podCount: 2,
  start: { ssh: false, jupyter: false },
  mount: { kind: 'none', sizeGb: 20, volumeId: '', path: '/workspace' },
};

/** Fields that the server may name in an error. */
export const CLUSTER_FIELDS = ['name', 'type', ...CONTAINER_FIELDS, 'mounts'];

/** Returns the body that creates a cluster. SSH and Jupyter add the ports that images serve them on. */
export function clusterBody(values: ClusterValues): Schemas['CreateClusterRequest'] {
  const { name, type, gpu, podCount, start, mount } = values;
  const { registry: _, ports, ...container } = containerBody(values);
  const added = [...(start.ssh ? ['22/tcp'] : []), ...(start.jupyter ? ['8888/http'] : [])];
  return {
    name,
    type,
    compute: { gpuTypeId: gpu.id, gpuCountPerPod: gpu.count, podCount },
    ...container,
    ports: [...new Set([...ports, ...added])],
    mounts: mountsBody(mount),
    startSsh: start.ssh,
    startJupyter: start.jupyter,
  };
}

/** `3 running, 1 starting`. */
export function describePods({ byStatus }: Cluster['pods']): string {
  const counts = Object.entries(byStatus as Record<string, number>);
  return counts.map(([status, count]) => `${count} ${enumLabel(status).toLowerCase()}`).join(', ');
}

/** `3 pods × 2 × NVIDIA L4`. */
export function describeCompute({ gpuTypeId, gpuCountPerPod, podCount }: Cluster['compute']): string {
  return `${podCount} pods × ${gpuCountPerPod} × ${gpuTypeId}`;
}
