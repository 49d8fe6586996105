/** The init container that copies models to a pod's node (docs/decisions/0125-models-on-nodes.md). */
import { posix } from 'node:path';
import { Failure } from '../../../core/errors.ts';
import type { WorkloadSpec } from '../../runtime.ts';
import { nameOf, type PodPlace } from './pod-place.ts';
import { MODELS_CONTAINER } from './pod-record.ts';

/** Where the container that gets models has the store. */
const STORE = '/models';
const MIN_MEMORY_BYTES = 512 * 2 ** 20;
/** Its key in the environment's Secret, beside the variables of the workload, which sees it too: it is of no use once that runs. */
export const URL_KEY = 'PODYARD_MODELS_URL';

/** Throws a sentence for a pod whose models cannot be got. */
export function checkModels({ models }: WorkloadSpec, { settings }: PodPlace): void {
  if (models === undefined || settings.modelsImage !== null) return;
  const text =
    'models need an image of Podyard that the nodes can pull: name it with PODYARD_KUBERNETES_MODELS_IMAGE, as the Helm chart does';
  throw new Failure('unprocessable', text);
}

/** Models in a folder of the pod's own count as its disk. */
export function modelBytesOnDisk({ models }: WorkloadSpec, { settings }: PodPlace): number {
  return models === undefined || settings.modelsPath !== null ? 0 : models.bytes;
}

/** The store of the node, or one of the pod's own, and what the workload itself adds to the models. */
export function modelVolumes({ models }: WorkloadSpec, { settings, installation }: PodPlace): object[] {
  if (models === undefined) return [];
  const { modelsPath } = settings;
  const store =
    modelsPath === null
      ? { emptyDir: {} }
      : { hostPath: { path: posix.join(modelsPath, installation), type: 'DirectoryOrCreate' } };
  return [
    { name: 'models', ...store },
    { name: 'hub', emptyDir: {} },
  ];
}

/** Outer ones come first. */
export function modelMounts({ id, models }: WorkloadSpec): object[] {
  if (models === undefined) return [];
  return [
    { name: 'hub', mountPath: models.hub },
    ...models.folders.map(({ name, target }) => ({
      name: 'models',
      mountPath: target,
      subPath: `workers/${id}/${name}`,
      readOnly: true,
    })),
  ];
}

/** The init container. `resources`: those of the workload, without its GPUs. */
export function modelContainer(
  spec: WorkloadSpec,
  { settings }: PodPlace,
  resources: { limits: Record<string, string>; requests: Record<string, string> },
): { initContainers?: object[] } {
  if (spec.models === undefined) return {};
  const { modelsImage, modelsPath, pullPolicy } = settings;
  const budgetGb = modelsPath === null ? Math.ceil(spec.models.bytes / 1e9) + 1 : settings.modelsGb;
  const { memory } = resources.limits;
  const limits = {
    ...resources.limits,
    ...(memory !== undefined && { memory: String(Math.max(Number(memory), MIN_MEMORY_BYTES)) }),
  };
  const container = {
    name: MODELS_CONTAINER,
    image: modelsImage,
    ...(pullPolicy && { imagePullPolicy: pullPolicy }),
    args: ['copy-models', STORE],
    terminationMessagePolicy: 'FallbackToLogsOnError',
    env: [
      { name: 'MODELS_URL', valueFrom: { secretKeyRef: { name: nameOf(spec.id), key: URL_KEY } } },
      ...(budgetGb === null ? [] : [{ name: 'PODYARD_MODELS_GB', value: String(budgetGb) }]),
    ],
    resources: { limits, requests: resources.requests },
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] },
      // The node creates a folder of its own for root.
      ...(modelsPath !== null && { runAsUser: 0, runAsNonRoot: false }),
    },
    volumeMounts: [{ name: 'models', mountPath: STORE }],
  };
  return { initContainers: [container] };
}
