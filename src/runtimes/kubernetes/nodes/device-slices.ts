/**
 * GPUs that a cluster hands out by Dynamic Resource Allocation instead of a device plugin. Nodes then have no `allocatable` of the
 * resource: a driver lists its devices in ResourceSlices, and a DeviceClass says which of them pods may request under the resource's
 * name (`spec.extendedResourceName`, Kubernetes 1.34 and later). Pods request them as before, so only counting them differs.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { Failure } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import { ApiServer } from '../api/api-server.ts';
import { accessOf } from '../api/cluster-access.ts';
import type { ApiObject, CachedObject } from '../api/objects.ts';
import { Reflector, type Timing } from '../api/reflector.ts';
import { type NodeRecord, toNodeRecord } from './nodes.ts';

const SLICES = '/apis/resource.k8s.io/v1/resourceslices';
const CLASSES = '/apis/resource.k8s.io/v1/deviceclasses';

interface ResourceSlice extends ApiObject {
  spec: {
    driver: string;
    pool: { name: string; generation: number };
    nodeName?: string;
    devices?: { attributes?: Record<string, { string?: string }>; taints?: { effect?: string }[] }[];
  };
}

interface DeviceClass extends ApiObject {
  spec: { extendedResourceName?: string; selectors?: { cel?: { expression?: string } }[] };
}

/** The cached part of a slice: its devices' types, such as `gpu` or `mig`. */
interface SliceRecord extends CachedObject {
  driver: string;
  pool: string;
  generation: number;
  nodeName: string | null;
  types: (string | null)[];
}

/** The cached part of a class: the resource that stands for it, and the devices that it selects. Null matches all. */
interface ClassRecord extends CachedObject {
  resource: string | null;
  driver: string | null;
  type: string | null;
}

export function toSliceRecord(object: ApiObject): SliceRecord {
  const { metadata, spec } = object as ResourceSlice;
  const isFree = ({ taints = [] }: { taints?: { effect?: string }[] }) =>
    !taints.some(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
  return {
    ...identityOf(metadata),
    driver: spec.driver,
    pool: spec.pool.name,
    generation: spec.pool.generation,
    nodeName: spec.nodeName ?? null,
    types: (spec.devices ?? []).filter(isFree).map(({ attributes = {} }) => attributes.type?.string ?? null),
  };
}

/**
 * A class selects by CEL expressions; two of their conditions are read, those that GPU drivers use: the driver's name and the
 * attribute `type`. Others are ignored: then the count may be too high, and a pod too many waits for its node.
 */
export function toClassRecord(object: ApiObject): ClassRecord {
  const { metadata, spec } = object as DeviceClass;
  const text = (spec.selectors ?? []).map(({ cel }) => cel?.expression ?? '').join(' && ');
  const equals = (left: string) => new RegExp(`${left}\\s*==\\s*['"]([^'"]+)['"]`).exec(text)?.[1] ?? null;
  return {
    ...identityOf(metadata),
    resource: spec.extendedResourceName ?? null,
    driver: equals(String.raw`device\.driver`),
    type: equals(String.raw`device\.attributes\[[^\]]+\]\.type`),
  };
}

function identityOf({ name, uid, resourceVersion }: ApiObject['metadata']): CachedObject {
  return { key: name, uid, resourceVersion };
}

/** Counts the devices of each node that pods can request as `resource`. Only the newest generation of a driver's pool counts. */
export function countDevices(
  slices: Iterable<SliceRecord>,
  classes: Iterable<ClassRecord>,
  resource: string,
): Map<string, number> {
  const wanted = [...classes].filter((one) => one.resource === resource);
  const counts = new Map<string, number>();
  if (wanted.length === 0) return counts;
  const ofPools = Map.groupBy(slices, ({ driver, pool }) => `${driver}/${pool}`);
  for (const pool of ofPools.values()) {
    const newest = Math.max(...pool.map(({ generation }) => generation));
    for (const { nodeName, driver, generation, types } of pool) {
      if (nodeName === null || generation !== newest) continue;
      const matches = (type: string | null) =>
        wanted.some((one) => (one.driver ?? driver) === driver && (one.type ?? type) === type);
      const count = types.filter(matches).length;
      if (count > 0) counts.set(nodeName, (counts.get(nodeName) ?? 0) + count);
    }
  }
  return counts;
}

/** Returns the nodes with these devices as GPUs. What a device plugin offers on a node wins. */
export function withDevices(nodes: Iterable<NodeRecord>, devices: ReadonlyMap<string, number>): Iterable<NodeRecord> {
  if (devices.size === 0) return nodes;
  return [...nodes].map((node) => (node.gpus > 0 ? node : { ...node, gpus: devices.get(node.key) ?? 0 }));
}

/** Reads the devices once. Empty where the cluster has no such API, or hides it. */
export async function readDevices(
  api: ApiServer,
  resource: string,
  options: { timeoutMs?: number } = {},
): Promise<Map<string, number>> {
  const list = (path: string) => api.json<{ items: ApiObject[] }>({ method: 'GET', path, ...options });
  try {
    const [slices, classes] = await Promise.all([list(SLICES), list(CLASSES)]);
    return countDevices(slices.items.map(toSliceRecord), classes.items.map(toClassRecord), resource);
  } catch (error) {
    if (isRefusal(error, 404) || isRefusal(error, 403)) return new Map();
    throw error;
  }
}

/** The devices of the cluster, watched from the first question on. */
export class DeviceSlices {
  readonly #slices: Reflector<SliceRecord>;
  readonly #classes: Reflector<ClassRecord>;
  readonly #resource: string;

  constructor(options: { api: ApiServer; logger: Logger; resource: string; timing?: Partial<Timing> }) {
    const { resource, ...more } = options;
    this.#resource = resource;
    const shared = { ...more, isOptional: true };
    this.#slices = new Reflector({ ...shared, name: 'resource slices', path: SLICES, transform: toSliceRecord });
    this.#classes = new Reflector({ ...shared, name: 'device classes', path: CLASSES, transform: toClassRecord });
  }

  /** Returns the devices of each node; none where the cluster has no such API, or hides it. */
  async byNode(): Promise<ReadonlyMap<string, number>> {
    try {
      await Promise.all([this.#slices.current(), this.#classes.current()]);
    } catch (error) {
      if (isRefusal(error, 404) || isRefusal(error, 403)) return new Map();
      throw error;
    }
    return countDevices(this.#slices.all(), this.#classes.all(), this.#resource);
  }

  close(): void {
    this.#slices.stop();
    this.#classes.stop();
  }
}

/** About a minute in all: the API server may start together with Podyard. */
const TRIES = 12;
const PAUSE_MS = 5_000;
/** Where the answer of the last start can be used instead. */
const SHORT_TIMEOUT_MS = 3_000;

/**
 * True when a node of the cluster has GPUs that workloads can request. While the API server is away, returns `lastKnown`
 * (the answer of the last start) at once, so that running workers are adopted without delay; null waits for the server.
 */
export async function hasGpuNodes(
  settings: KubernetesSettings,
  logger: Logger,
  lastKnown: boolean | null,
): Promise<boolean> {
  const api = new ApiServer(() => accessOf(settings));
  const limit = lastKnown === null ? {} : { timeoutMs: SHORT_TIMEOUT_MS };
  const read = async () => {
    const query = { labelSelector: settings.gpuLabel };
    const nodes = await api.json<{ items: ApiObject[] }>({ method: 'GET', path: '/api/v1/nodes', query, ...limit });
    const devices = await readDevices(api, settings.gpuResource, limit);
    const known = nodes.items.map((node) => toNodeRecord(node, settings));
    return [...withDevices(known, devices)].some(({ gpus }) => gpus > 0);
  };
  try {
    await api.access();
    for (let left = TRIES; ; left--) {
      try {
        return await read();
      } catch (error) {
        if (left === 1 || !(error instanceof Failure)) throw error;
        if (lastKnown !== null) {
          logger.warn({ err: error, hasGpus: lastKnown }, 'cluster away, using the GPU setting of the last start');
          return lastKnown;
        }
        logger.warn({ err: error }, 'waiting for the cluster');
        await sleep(PAUSE_MS);
      }
    }
  } finally {
    await api.close();
  }
}
