import type { KubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { Failure } from '../../../core/errors.ts';

/** The facts that a manifest needs beside the workload spec. */
export interface PodPlace {
  installation: string;
  settings: KubernetesSettings;
  /** The GPU label's values for the pool; null where GPUs are simulated and the pod may run anywhere. */
  gpuProducts: readonly string[] | null;
  /** Nodes that have its models, which it prefers. */
  modelNodes?: readonly string[];
}

/** The name of a workload's pod. */
export function nameOf(id: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/.test(id)) {
    throw new Failure('badRequest', `'${id}' is not a valid workload id`);
  }
  return `podyard-${id}`;
}
