import { readKubernetesSettings } from '../../src/config/kubernetes-settings.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { createKubernetesRuntime } from '../../src/runtimes/kubernetes/kubernetes-runtime.ts';
import type { RuntimePlace } from '../e2e/server-process.ts';
import type { Cluster } from './cluster.ts';

export interface ClusterPlace extends RuntimePlace {
  namespace: string;
  env: Record<string, string>;
}

/** Creates a namespace for a server's workloads, with fake GPUs for this server alone: RTX 4090s of the pool ADA_24. */
export async function placeOnCluster(
  cluster: Cluster,
  options: { gpus: number; env?: Record<string, string> },
): Promise<ClusterPlace> {
  const { resource, label, selector } = await cluster.equip(options.gpus, 'NVIDIA-GeForce-RTX-4090');
  const place = await placeOnNodes(cluster, {
    PODYARD_KUBERNETES_GPU_RESOURCE: resource,
    PODYARD_KUBERNETES_GPU_LABEL: label,
    PODYARD_KUBERNETES_NODE_SELECTOR: selector,
    ...options.env,
  });
  await cluster.provideVolumes(place.namespace, place.namespace);
  return place;
}

/** Creates a namespace for a server's workloads, on the nodes that its settings select. */
export async function placeOnNodes(cluster: Cluster, more: Record<string, string>): Promise<ClusterPlace> {
  const namespace = await cluster.namespace();
  const env = {
    PODYARD_KUBECONFIG: cluster.kubeconfig,
    PODYARD_KUBERNETES_NAMESPACE: namespace,
    PODYARD_PULL_AHEAD: 'false', // fake nodes never pull
    PODYARD_KUBERNETES_STORAGE_CLASSES: `STANDARD=${namespace},HIGH_PERFORMANCE=${namespace}`,
    ...more,
  };
  const claims = `/api/v1/namespaces/${namespace}/persistentvolumeclaims`;
  return {
    namespace,
    env,
    gpus: undefined,
    openRuntime: (installation) =>
      createKubernetesRuntime({ installation, logger: silentLogger, settings: readKubernetesSettings(env) }),
    listStored: async (kind) =>
      (await cluster.client.list(claims))
        .filter(({ metadata }) => metadata.labels['podyard.dev/kind'] === kind)
        .map(({ metadata }) => metadata.labels['podyard.dev/id']),
  };
}
