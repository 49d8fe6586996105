import type { KubernetesSettings, Toleration } from '../../../config/kubernetes-settings.ts';
import { gpuPools, gpuTypes, gpuTypesOfPool, LOCAL_DATA_CENTER } from '../../../domain/catalog/catalog.ts';
import { migTypeOf, poolOf, sharedTypeOf } from '../../../domain/catalog/part-types.ts';
import type { Capacity, GpuCapacity } from '../../runtime.ts';
import { type ApiObject, amountOf, type CachedObject, type Node, type Taint, timeOf } from '../api/objects.ts';

/** The cached part of a node. */
export interface NodeRecord extends CachedObject {
  /** Whether our workloads may be scheduled there. */
  isUsable: boolean;
  /** Since when it is not ready; null when it is. */
  unreadySince: Date | null;
  /** The GPU label's value. */
  gpuProduct: string | null;
  gpus: number;
  /** The CUDA version that its driver supports; null without the labels of GPU feature discovery. */
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

/** GPUs a pod holds on a node. */
export interface HeldGpus {
  nodeName: string;
  count: number;
}

/**
 * The capacity of usable nodes, with an entry for each node with GPUs. GPUs of foreign pods are not counted at all; ours
 * count as present but not free.
 */
export function clusterCapacity(
  nodes: Iterable<NodeRecord>,
  own: Iterable<HeldGpus>,
  others: Iterable<HeldGpus>,
): Capacity {
  const ownByNode = sumByNode(own);
  const othersByNode = sumByNode(others);
  const usable = [...nodes].filter((node) => node.isUsable && node.unreadySince === null);
  const [largest] = usable.toSorted((a, b) => b.memoryBytes - a.memoryBytes || b.cpus - a.cpus);
  const sum = (amount: (node: NodeRecord) => number) => usable.reduce((total, node) => total + amount(node), 0);
  return {
    memoryBytes: sum((node) => node.memoryBytes),
    cpus: sum((node) => node.cpus),
    places: placesOf(usable),
    ...(largest && { largest: { memoryBytes: largest.memoryBytes, cpus: largest.cpus } }),
    gpus: usable.flatMap((node) => {
      if (node.gpus === 0) return [];
      const total = Math.max(0, node.gpus - (othersByNode.get(node.key) ?? 0));
      return [entryOf(node, total, Math.max(0, total - (ownByNode.get(node.key) ?? 0)))];
    }),
  };
}

/** Adds up nodes by data center. */
function placesOf(nodes: readonly NodeRecord[]): NonNullable<Capacity['places']> {
  const byDataCenter = Map.groupBy(nodes, ({ dataCenterId }) => dataCenterId ?? LOCAL_DATA_CENTER);
  return [...byDataCenter].map(([dataCenterId, own]) => ({
    dataCenterId,
    cpus: own.reduce((sum, { cpus }) => sum + cpus, 0),
    memoryBytes: own.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
  }));
}

function sumByNode(held: Iterable<HeldGpus>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { nodeName, count } of held) sums.set(nodeName, (sums.get(nodeName) ?? 0) + count);
  return sums;
}

function entryOf(node: NodeRecord, total: number, free: number): GpuCapacity {
  const { pool, gpuTypeId } = gpuOfProduct(node.gpuProduct ?? '');
  const machine = { cpus: node.cpus, memoryBytes: node.memoryBytes, gpus: node.gpus };
  const cuda = node.cudaVersion === null ? {} : { cudaVersion: node.cudaVersion };
  return { pool, gpuTypeId, dataCenterId: node.dataCenterId ?? LOCAL_DATA_CENTER, total, free, machine, ...cuda };
}

/**
 * Resolves a GPU label's value: a GPU type of the catalog in any spelling (`NVIDIA-GeForce-RTX-4090`), or the name of a pool.
 * An unknown value is a pool of its own.
 */
export function gpuOfProduct(product: string): { pool: string; gpuTypeId: string } {
  const part = partOfProduct(product);
  if (part !== null) return part;
  const spelled = plain(product);
  const type = gpuTypes().find(({ id }) => plain(id) === spelled);
  if (type) return { pool: poolOf(type.id), gpuTypeId: type.id };
  const pool = gpuPools().find((one) => plain(one) === spelled);
  if (pool !== undefined) return { pool, gpuTypeId: gpuTypesOfPool(pool)[0]?.id ?? pool };
  return { pool: product, gpuTypeId: product };
}

/** Slices and shared GPUs have a suffix, and are not in the pool of whole ones. */
function partOfProduct(product: string): { pool: string; gpuTypeId: string } | null {
  const shared = /^(.+)-SHARED$/i.exec(product);
  if (shared) return sharedTypeOf(gpuOfProduct(shared[1]!).gpuTypeId, 0);
  const [whole = '', profile, ...rest] = product.split(/-MIG-/i);
  if (profile === undefined || rest.length > 0) return null;
  return migTypeOf(gpuOfProduct(whole).gpuTypeId, profile.toLowerCase());
}

/** Normalizes spellings: labels have no spaces. */
function plain(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, '');
}

/** The label values that nodes of a pool have or may have: those of one GPU type, or of all. */
export function productsOfPool(pool: string, nodes: Iterable<NodeRecord>, gpuTypeId?: string): string[] {
  const isWanted = (product: string) => {
    const gpu = gpuOfProduct(product);
    return gpu.pool === pool && (gpuTypeId === undefined || gpu.gpuTypeId === gpuTypeId);
  };
  const possible = [pool, ...gpuTypesOfPool(pool).map(({ id }) => id)].map((name) => name.replaceAll(' ', '-'));
  const found = [...nodes].flatMap(({ gpuProduct }) => gpuProduct ?? []);
  return [...new Set([...possible, ...found].filter(isWanted))];
}
