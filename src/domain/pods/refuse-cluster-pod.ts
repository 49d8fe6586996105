import { Failure } from '../../core/errors.ts';
import type { Pod } from './pod.ts';

/** Throws `conflict` if the pod belongs to a cluster: its pods are changed, and end, only together. */
export function refuseClusterPod({ cluster }: Pick<Pod, 'cluster'>): void {
  if (cluster === null) return;
  throw new Failure(
    'conflict',
    `The pod is rank ${cluster.rank} of cluster '${cluster.id}', whose pods are alike and end together. ` +
      `To end them, DELETE /v2/clusters/${cluster.id}; to change them, create another cluster.`,
  );
}
