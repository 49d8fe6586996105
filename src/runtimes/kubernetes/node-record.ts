import type { KubernetesSettings, Toleration } from '../../config/kubernetes-settings.ts';
import type { CachedObject } from './object-cache.ts';
import { type ApiObject, amountOf, type Node, type Taint, timeOf } from './objects.ts';

/** What is cached of a node. */
export interface NodeRecord extends CachedObject {
  /** Whether our workloads may be scheduled there. */
  isUsable: boolean;
  /** Since when it is not ready; null when it is. */
  unreadySince: Date | null;
  /** The GPU label's value. */
  gpuProduct: string | null;
  gpus: number;
  /** What its driver supports; null without the labels of GPU feature discovery. */
  cudaVersion: string | null;
  dataCenterId: string | null;
  memoryBytes: number;
  cpus: number;
  externalIp: string | null;
  internalIp: string | null;
  /** Where its kubelet listens. */
  kubeletPort: number;
}

const KUBELET_PORT = 10_250;

export function toNodeRecord(object: ApiObject, settings: KubernetesSettings): NodeRecord {
  const { metadata, spec = {}, status = {} } = object as Node;
  const { labels = {} } = metadata;
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const address = (type: string) => status.addresses?.find((one) => one.type === type)?.address ?? null;
  const isSelected = Object.entries(settings.nodeSelector).every(([name, value]) => labels[name] === value);
  const allocatable = status.allocatable ?? {};
  return {
    key: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    isUsable: isSelected && !spec.unschedulable && (spec.taints ?? []).every((taint) => isAccepted(taint, settings)),
    unreadySince: ready?.status === 'True' ? null : (timeOf(ready?.lastTransitionTime) ?? new Date()),
    gpuProduct: labels[settings.gpuLabel] ?? null,
    gpus: amountOf(allocatable[settings.gpuResource]),
    cudaVersion: cudaVersionOf(labels),
    dataCenterId: labels[settings.dataCenterLabel] ?? null,
    memoryBytes: amountOf(allocatable.memory),
    cpus: amountOf(allocatable.cpu),
    externalIp: address('ExternalIP'),
    internalIp: address('InternalIP'),
    kubeletPort: status.daemonEndpoints?.kubeletEndpoint?.Port ?? KUBELET_PORT,
  };
}

/** Prefixes of the labels in which GPU feature discovery says it, with `major` and `minor`: the new one and the old one. */
export const CUDA_LABELS = ['nvidia.com/cuda.runtime-version', 'nvidia.com/cuda.runtime'] as const;

function cudaVersionOf(labels: Readonly<Record<string, string>>): string | null {
  for (const prefix of CUDA_LABELS) {
    const [major, minor] = [labels[`${prefix}.major`], labels[`${prefix}.minor`]];
    if (major !== undefined && minor !== undefined) return `${major}.${minor}`;
  }
  return null;
}

function isAccepted(taint: Taint, { tolerations }: KubernetesSettings): boolean {
  return taint.effect === 'PreferNoSchedule' || tolerations.some((one) => tolerates(one, taint));
}

function tolerates(toleration: Toleration, { key, value = '', effect }: Taint): boolean {
  if (toleration.key !== key || (toleration.effect !== undefined && toleration.effect !== effect)) return false;
  return toleration.operator === 'Exists' || toleration.value === value;
}
