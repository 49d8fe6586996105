import type { Schemas } from '../../api/client.ts';
import { CONTAINER_FIELDS, type ContainerValues, containerBody } from '../../ui/forms/container-values.ts';
import { type BodyExcept, type Fields, initialValues } from '../../ui/forms/fields.ts';
import { labelOf } from '../../ui/text/labels.ts';
import { POD_STATUSES } from '../pods/pod-details.ts';
import { mountsBody, portsWith, SHARED_FIELDS, type SharedValues } from '../pods/pod-values.ts';

export type Cluster = Schemas['Cluster'];

type Body = Schemas['CreateClusterRequest'];
/** Set by other clients only. */
type LeftOut = 'templateId' | 'dataCenterIds';

export interface ClusterValues
  extends BodyExcept<Body, LeftOut | 'env' | 'compute' | 'mounts'>,
    SharedValues,
    Omit<ContainerValues, 'registry'> {
  podCount: Body['compute']['podCount'];
}

const { registry: _, ...CONTAINER } = CONTAINER_FIELDS;

export const CLUSTER_FIELDS: Fields<ClusterValues> = {
  name: { label: 'Name', initial: '', isRequired: true },
  type: {
    label: 'Type',
    initial: 'APPLICATION',
    choices: { APPLICATION: 'Application', TRAINING: 'Training', SLURM: 'Slurm', RAY: 'Ray' },
  },
  podCount: {
    label: 'Pods',
    help: 'All start at once, or wait until there is room for all',
    initial: 2,
    min: 2,
    max: 250,
  },
  ...CONTAINER,
  ports: { ...CONTAINER.ports, help: 'For others. The pods of the cluster reach all ports of each other.' },
  ...SHARED_FIELDS,
};

export const NEW_CLUSTER = initialValues<ClusterValues>(CLUSTER_FIELDS);

/** Returns the body that creates a cluster. SSH and Jupyter add the ports that images serve them on. */
export function clusterBody(values: ClusterValues): Body {
  const { gpu, podCount, mount, ...same } = values;
  const { registry: _, ...container } = containerBody({ ...values, registry: null });
  return {
    ...same,
    compute: { gpuTypeId: gpu.id, gpuCountPerPod: gpu.count, podCount },
    ...container,
    ports: portsWith(values.ports, values),
    mounts: mountsBody(mount),
  };
}

/** `3 running, 1 starting`. */
export function describePods({ byStatus }: Cluster['pods']): string {
  const counts = Object.entries(byStatus as Record<string, number>);
  return counts.map(([status, count]) => `${count} ${labelOf(POD_STATUSES, status).toLowerCase()}`).join(', ');
}

/** `3 pods × 2 × NVIDIA L4`. */
export function describeCompute({ gpuTypeId, gpuCountPerPod, podCount }: Cluster['compute']): string {
  return `${podCount} pods × ${gpuCountPerPod} × ${gpuTypeId}`;
}
