import type { Static } from 'typebox';
import { Failure } from '../../core/errors.ts';
import type { Stock } from '../../domain/catalog/capacity-source.ts';
import { dataCenters, findDataCenter, type GpuType, gpuTypes } from '../../domain/catalog/catalog.ts';
import type { NewPod } from '../../domain/pods/create-pod.ts';
import type { Cloud, Pod, PodGpu, PodMounts } from '../../domain/pods/pod.ts';
import type { PodChange } from '../../domain/pods/update-pod.ts';
import { byDefault, closed, MAX_INTEGER, nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { DEFAULT_MOUNT_PATH, toContainer, V1_CONTAINER, V1_DEFAULTS } from './v1-container.ts';
import { showPod } from './v1-pods.ts';
import { changedMembers, checkCount, checkPath, givenPath, repeated } from './v1-records.ts';

const name = Type.String({ minLength: 1, maxLength: 191 });
const locked = Type.Boolean({ description: 'A locked pod refuses to stop and to restart.' });
const priority = (description: string) =>
  Type.Optional(byDefault(stringEnum(['availability', 'custom'], { description }), 'availability'));
const none = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }));
const UNMEASURED = 'Above 0 it is a 400: nothing measures it here.';

/** Members of the record that a request may repeat: what is observed, and what is fixed. */
const SHOWN = [
  ...['lastStatusChange', 'lastStartedAt', 'machineId', 'costPerHr', 'adjustedCostPerHr', 'savingsPlans', 'publicIp'],
  ...['portMappings', 'machine', 'networkVolume', 'template', 'gpu'],
] as const;
const OF_RECORD = ['id', 'createdAt', 'consumerUserId', 'desiredStatus', 'memoryInGb', 'volumeEncrypted'] as const;
const FIXED = [
  ...OF_RECORD,
  ...(['gpuCount', 'gpuTypeId', 'cpuFlavorId', 'vcpuCount', 'templateId', 'networkVolumeId', 'interruptible'] as const),
] as const;
const image = Type.String({ description: 'The same as `imageName`.' });

export const PodCreateInput = closed(
  {
    ...V1_CONTAINER,
    ...repeated([...SHOWN, ...OF_RECORD]),
    image: Type.Optional(image),
    gpuTypeId: Type.Optional(Type.String({ description: 'The same as `gpuTypeIds` with one type.' })),
    cpuFlavorId: Type.Optional(Type.String({ description: 'The same as `cpuFlavorIds` with one flavor.' })),
    name: Type.Optional(byDefault(name, 'my pod')),
    templateId: Type.Optional(nullableString({ description: 'A template for pods; the given fields win.' })),
    computeType: Type.Optional(
      stringEnum(['GPU', 'CPU'], { description: 'Left out: CPU if only `cpuFlavorId` is given, otherwise GPU.' }),
    ),
    cloudType: Type.Optional(byDefault(stringEnum(['SECURE', 'COMMUNITY']), 'SECURE')),
    gpuTypeIds: Type.Optional(
      Type.Array(Type.String(), { maxItems: 20, description: 'The first with capacity is used; left out: any.' }),
    ),
    gpuTypePriority: priority('`availability`: the type with the most free first; `custom`: in the given order.'),
    gpuCount: Type.Optional(
      byDefault(Type.Integer({ minimum: 0, maximum: MAX_INTEGER, description: 'At least 1; 0 for a CPU pod.' }), 1),
    ),
    allowedCudaVersions: Type.Optional(
      Type.Array(Type.String(), { description: 'Versions of CUDA like 12.8: the driver supports one of them.' }),
    ),
    cpuFlavorIds: Type.Optional(Type.Array(Type.String(), { maxItems: 20, description: 'Left out: cpu3c.' })),
    cpuFlavorPriority: priority('Either way, the first flavor in the list with capacity is used.'),
    vcpuCount: Type.Optional(
      byDefault(Type.Integer({ minimum: 0, maximum: MAX_INTEGER, description: 'At least 1; 0 for a GPU pod.' }), 2),
    ),
    dataCenterIds: Type.Optional(
      Type.Array(Type.String(), { description: 'Preferred first; left out or empty: any.' }),
    ),
    dataCenterPriority: priority('Either way, the first data center in the list with capacity is used.'),
    countryCodes: Type.Optional(
      Type.Array(Type.String(), { description: 'Only data centers in one of these countries; empty: any.' }),
    ),
    networkVolumeId: Type.Optional(
      Type.String({ description: 'Mounted at `volumeMountPath`, instead of storage of the pod itself; empty: none.' }),
    ),
    globalNetworking: Type.Optional(byDefault(Type.Boolean(), false)),
    interruptible: Type.Optional(
      byDefault(Type.Boolean({ description: 'True is a 400: there are no spot pods.' }), false),
    ),
    locked: Type.Optional(byDefault(locked, false)),
    minDiskBandwidthMBps: none(UNMEASURED),
    minDownloadMbps: none(UNMEASURED),
    minUploadMbps: none(UNMEASURED),
    minRAMPerGPU: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_INTEGER,
        description: 'GB of memory that the machine has for each GPU.',
      }),
    ),
    minVCPUPerGPU: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAX_INTEGER, description: 'CPUs that the machine has for each GPU.' }),
    ),
    supportPublicIp: Type.Optional(
      Type.Boolean({ description: 'Taken and ignored: TCP ports are always published at the address of the machine.' }),
    ),
  },
  {
    $id: 'PodCreateInput',
    description:
      'Without a template, the disk has 50 GB, the ports are 8888/http and 22/tcp, and a GPU pod has 20 GB of storage at /workspace.',
  },
);

export const PodUpdateInput = closed(
  {
    ...V1_CONTAINER,
    ...repeated([...SHOWN, ...FIXED]),
    image: Type.Optional(image),
    name: Type.Optional(name),
    locked: Type.Optional(locked),
    globalNetworking: Type.Optional(Type.Boolean()),
  },
  { $id: 'PodUpdateInput', description: 'Only the given fields change. Another container setting restarts the pod.' },
);

type Create = Static<typeof PodCreateInput>;
type Update = Static<typeof PodUpdateInput>;

const MAX_CANDIDATES = 20;

/** Returns the pods to try in order: the first that there is capacity for is made. Throws `badRequest`. */
export function toNewPods(given: Create, stock: Stock): NewPod[] {
  refuseUnknown(given);
  const body = withLists(given);
  const isCpuPod = body.computeType === 'CPU';
  if (isCpuPod) checkCount(body.vcpuCount, 'vcpuCount');
  else checkCount(body.gpuCount, 'gpuCount');
  const cloud = body.cloudType ?? 'SECURE';
  const shared = { ...toShared(body, isCpuPod), cloud };
  if (isCpuPod) {
    const vcpuCount = body.vcpuCount ?? 2;
    return (body.cpuFlavorIds ?? ['cpu3c']).map((id) => ({ ...shared, gpu: null, cpu: { id, vcpuCount } }));
  }
  const gpu = toGpu(body);
  return toTypes(body, cloud, stock).map((id) => ({ ...shared, gpu: { id, ...gpu }, cpu: null }));
}

/** Reads the members that a record has instead of those of a create. */
function withLists({ gpuTypeId, cpuFlavorId, image: sameImage, ...body }: Create): Create {
  const kind = cpuFlavorId && !gpuTypeId && !body.gpuTypeIds ? 'CPU' : 'GPU';
  return {
    ...body,
    computeType: body.computeType ?? kind,
    ...(gpuTypeId && { gpuTypeIds: body.gpuTypeIds ?? [gpuTypeId] }),
    ...(cpuFlavorId && { cpuFlavorIds: body.cpuFlavorIds ?? [cpuFlavorId] }),
    ...(sameImage && { imageName: body.imageName ?? sameImage }),
  };
}

function toGpu({ gpuCount, allowedCudaVersions, minRAMPerGPU, minVCPUPerGPU }: Create): Omit<PodGpu, 'id'> {
  return {
    count: gpuCount ?? 1,
    ...(allowedCudaVersions?.length && { allowedCudaVersions }),
    ...(minRAMPerGPU && { minRamPerGpu: minRAMPerGPU }),
    ...(minVCPUPerGPU && { minVcpuCountPerGpu: minVCPUPerGPU }),
  };
}

/** Returns the data centers to choose from; empty: any. Throws `badRequest` if none of them is in the countries. */
function toPlaces({ dataCenterIds = [], countryCodes = [] }: Create): string[] {
  if (countryCodes.length === 0) return dataCenterIds;
  const isThere = (id: string) => countryCodes.includes(findDataCenter(id)?.countryCode ?? '');
  const listed = dataCenterIds.length > 0 ? dataCenterIds : dataCenters().map(({ id }) => id);
  const places = listed.filter(isThere);
  if (places.length > 0) return places;
  throw new Failure('badRequest', `countryCodes: no data center to choose from is in ${countryCodes.join(', ')}`);
}

function toTypes({ gpuTypeIds, gpuTypePriority }: Create, cloud: Cloud, stock: Stock): string[] {
  if (gpuTypeIds?.length === 0) throw new Failure('badRequest', 'gpuTypeIds: must name at least one GPU type');
  const ids = gpuTypeIds ?? gpuTypes().flatMap((type) => (isSold(type, cloud) ? [type.id] : []));
  if (gpuTypeIds && gpuTypePriority === 'custom') return gpuTypeIds;
  const free = new Map<string, number>();
  for (const entry of stock.gpus) free.set(entry.gpuTypeId, (free.get(entry.gpuTypeId) ?? 0) + entry.free);
  return ids.toSorted((a, b) => (free.get(b) ?? 0) - (free.get(a) ?? 0)).slice(0, MAX_CANDIDATES);
}

function isSold({ secure, community }: GpuType, cloud: Cloud): boolean {
  return cloud === 'SECURE' ? secure : community;
}

function toShared(body: Create, isCpuPod: boolean): Omit<NewPod, 'gpu' | 'cpu' | 'cloud'> {
  const templateId = body.templateId || null;
  const mounts = toMounts(body, { isCpuPod, hasTemplate: templateId !== null });
  const own = templateId === null ? { diskGb: V1_DEFAULTS.containerDiskInGb, ports: V1_DEFAULTS.ports } : {};
  return {
    name: body.name ?? 'my pod',
    ...own,
    ...toContainer(body),
    ...(mounts && { mounts }),
    dataCenterIds: toPlaces(body),
    hasGlobalNetwork: body.globalNetworking ?? false,
    isPrivate: false,
    templateId,
  };
}

/** Undefined: the template's. */
function toMounts(body: Create, pod: { isCpuPod: boolean; hasTemplate: boolean }): PodMounts | undefined {
  const path = givenPath(body.volumeMountPath) ?? DEFAULT_MOUNT_PATH;
  if (body.networkVolumeId) return { persistent: null, network: { volumeId: body.networkVolumeId, path } };
  if (pod.isCpuPod && body.volumeInGb) {
    throw new Failure('badRequest', 'volumeInGb: a CPU pod cannot have storage of its own: use a network volume');
  }
  if (body.volumeInGb === undefined && (pod.hasTemplate || pod.isCpuPod)) return undefined;
  const sizeGb = body.volumeInGb === undefined ? V1_DEFAULTS.volumeInGb : (body.volumeInGb ?? 0);
  return { persistent: sizeGb === 0 ? null : { sizeGb, path }, network: null };
}

const UNMEASURED_FIELDS = ['minDiskBandwidthMBps', 'minDownloadMbps', 'minUploadMbps'] as const;

function refuseUnknown(body: Create): void {
  if (body.interruptible) throw new Failure('badRequest', 'interruptible: there are no interruptible pods');
  const field = UNMEASURED_FIELDS.find((name) => body[name]);
  if (field) throw new Failure('badRequest', `${field}: the speed of networks and disks is not measured`);
}

/** Maps what differs from the pod as it is. Throws `badRequest`. */
export function toPodChange(given: Update, before: Pod): PodChange {
  const { image: sameImage, ...body } = changedMembers(given, showPod(before), { fixed: FIXED, shown: SHOWN });
  checkPath(body.volumeMountPath);
  const mounts = changeMounts(body, before.mounts);
  return {
    ...(sameImage && { image: sameImage }),
    ...toContainer(body, before.args),
    ...(body.name === undefined ? {} : { name: body.name }),
    ...(body.locked === undefined ? {} : { isLocked: body.locked }),
    ...(body.globalNetworking === undefined ? {} : { hasGlobalNetwork: body.globalNetworking }),
    ...(mounts && { mounts }),
  };
}

function changeMounts({ volumeInGb, volumeMountPath: path }: Update, before: PodMounts): PodChange['mounts'] {
  const { persistent, network } = before;
  const sizeGb = volumeInGb ?? undefined;
  if (network) {
    if (sizeGb) throw new Failure('badRequest', 'volumeInGb: the pod has a network volume instead');
    return path === undefined ? undefined : { network: { ...network, path } };
  }
  if (sizeGb === undefined && path === undefined) return undefined;
  if (!persistent) {
    if (!sizeGb) return undefined; // without storage, there is no path either
    throw new Failure('badRequest', 'volumeInGb: the pod was created without storage of its own');
  }
  return { persistent: { sizeGb: sizeGb ?? persistent.sizeGb, path: path ?? persistent.path } };
}
