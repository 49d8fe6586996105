import { Failure } from '../core/errors.ts';
import { dataCenters, findCpuFlavor, findDataCenter, findGpuType } from '../domain/catalog/catalog.ts';
import { parseInstanceId } from '../domain/catalog/cpu-config.ts';
import type { NewPod } from '../domain/pods/create-pod.ts';
import { type Cloud, DESIRED_STATUS, type Pod, type PodGpu, type PodMounts } from '../domain/pods/pod.ts';
import type { PodUsage } from '../domain/pods/pod-figures.ts';
import { readDeadline } from '../domain/pods/pod-lifetime.ts';
import { podRuntime, podUptimeSeconds } from '../domain/pods/pod-runtime.ts';
import { type EnvironmentVariable, toEnv, toId, toPorts } from './container-wire.ts';
import { readList, readNumber, readOneOf, readText } from './inputs.ts';
import { hasCompliance } from './offers.ts';
import { DEFAULT_MOUNT_PATH } from './template-wire.ts';

/** The fields of a pod's container and storage, which a cluster's pods have, too. */
export interface PodContainerInput {
  imageName?: string | null;
  volumeInGb?: number | null;
  containerDiskInGb?: number | null;
  dockerArgs?: string | null;
  ports?: string | null;
  volumeMountPath?: string | null;
  env?: (EnvironmentVariable | null)[] | null;
  templateId?: string | null;
  networkVolumeId?: string | null;
  containerRegistryAuthId?: string | null;
  startSsh?: boolean | null;
  startJupyter?: boolean | null;
}

interface PodInput extends PodContainerInput {
  name?: string | null;
  cloudType?: string | null;
  dataCenterId?: string | null;
  compliance?: (string | null)[] | null;
  stopAfter?: unknown;
  terminateAfter?: unknown;
}

export interface CudaInput {
  allowedCudaVersions?: (string | null)[] | null;
  minCudaVersion?: string | null;
}

export interface GpuPodInput extends PodInput, CudaInput {
  gpuTypeId?: string | null;
  gpuTypeIdList?: (string | null)[] | null;
  gpuCount?: number | null;
}

export interface CpuPodInput extends PodInput {
  instanceId?: string | null;
}

/** As public clients send it when their user says nothing. */
const DEFAULT_INSTANCE = 'cpu3c-2-4';

const CLOUDS: Record<string, readonly Cloud[]> = {
  ALL: ['SECURE', 'COMMUNITY'],
  SECURE: ['SECURE'],
  COMMUNITY: ['COMMUNITY'],
};
const MAX_GPU_TYPES = 20;

/** Returns the candidates in order of preference: by GPU type, then by cloud. Throws `badRequest`. */
export function toGpuPods(input: GpuPodInput, nowMs: number): NewPod[] {
  const listed = (input.gpuTypeIdList ?? []).flatMap((id) => toId(id) ?? []);
  const types = listed.length > 0 ? listed : [readText(input.gpuTypeId, 'gpuTypeId')];
  if (types.length > MAX_GPU_TYPES) {
    throw new Failure('badRequest', `gpuTypeIdList: must not name more than ${MAX_GPU_TYPES} types`);
  }
  const count = readNumber(input.gpuCount, 'gpuCount', { min: 1, fallback: 1 });
  const shared = toNewPod(input, nowMs);
  return types.flatMap((id) =>
    cloudsOf(id, input).map((cloud) => ({ ...shared, cloud, gpu: { id, count, ...toCudaRule(input) }, cpu: null })),
  );
}

/** Maps what is required of the driver; an empty list and `""` require nothing. */
export function toCudaRule({
  allowedCudaVersions,
  minCudaVersion,
}: CudaInput): Pick<PodGpu, 'allowedCudaVersions' | 'minCudaVersion'> {
  const allowed = (allowedCudaVersions ?? []).flatMap((version) => version || []);
  return { ...(allowed.length > 0 && { allowedCudaVersions: allowed }), ...(minCudaVersion && { minCudaVersion }) };
}

/** Returns at least one cloud, so that creating a pod can fail with a reason. */
function cloudsOf(gpuTypeId: string, { cloudType }: PodInput): readonly Cloud[] {
  const clouds = readOneOf(cloudType, 'cloudType', CLOUDS, CLOUDS.ALL!);
  const gpu = findGpuType(gpuTypeId);
  const offered = clouds.filter((cloud) => (cloud === 'SECURE' ? gpu?.secure : gpu?.community));
  return offered.length > 0 ? offered : clouds.slice(0, 1);
}

/** Parses `cpu3c-2-4`. Throws `badRequest`, also if the memory does not match the flavor and its vCPUs. */
export function readInstanceId(instanceId: string): { id: string; vcpuCount: number } {
  const request = parseInstanceId(instanceId);
  const flavor = request && findCpuFlavor(request.id);
  const memory = Number(instanceId.slice(instanceId.lastIndexOf('-') + 1));
  if (flavor && request.vcpuCount * flavor.ramGbPerVcpu === memory) return request;
  throw new Failure('badRequest', 'instanceId: must be <flavor>-<vCPUs>-<GB>, with the GB of the flavor: cpu3c-2-4');
}

export function toCpuPod(input: CpuPodInput, nowMs: number): NewPod {
  const cpu = readInstanceId(input.instanceId || DEFAULT_INSTANCE);
  const [cloud] = readOneOf(input.cloudType, 'cloudType', CLOUDS, CLOUDS.ALL!);
  return { ...toNewPod(input, nowMs), cloud: cloud!, gpu: null, cpu };
}

function toNewPod(input: PodInput, nowMs: number) {
  return {
    ...toPodContainer(input),
    name: input.name || input.imageName || 'pod',
    dataCenterIds: toDataCenterIds(input),
    hasGlobalNetwork: false,
    isPrivate: false,
    stopAt: toTime(input.stopAfter, 'stopAfter', nowMs),
    terminateAt: toTime(input.terminateAfter, 'terminateAfter', nowMs),
  };
}

/** Empty fields count as absent: the template's are used. Throws `badRequest`. */
export function toPodContainer(input: PodContainerInput) {
  const { containerDiskInGb: disk, startSsh, startJupyter } = input;
  const mounts = toMounts(input);
  const registryId = toId(input.containerRegistryAuthId);
  return {
    ...(input.imageName ? { image: input.imageName } : {}),
    ...(input.dockerArgs ? { args: input.dockerArgs } : {}),
    ...(input.ports ? { ports: toPorts(input.ports) } : {}),
    ...(disk === undefined || disk === null
      ? {}
      : { diskGb: readNumber(disk, 'containerDiskInGb', { min: 1, fallback: 1 }) }),
    ...(registryId === null ? {} : { registryId }),
    ...(mounts ? { mounts } : {}),
    env: toEnv(input.env),
    ...(startSsh === undefined || startSsh === null ? {} : { startSsh }),
    ...(startJupyter === undefined || startJupyter === null ? {} : { startJupyter }),
    templateId: toId(input.templateId),
  };
}

/** A DateTime may be any value. */
function toTime(value: unknown, field: string, nowMs: number): Date | null {
  if (value === undefined || value === null || value === '') return null;
  return readDeadline(typeof value === 'string' ? value : '', field, nowMs);
}

/** Returns the data centers that have what is required; none: any. Throws `badRequest` if there is none of them. */
function toDataCenterIds({ dataCenterId, compliance }: PodInput): string[] {
  const listed = readList(dataCenterId);
  const required = (compliance ?? []).flatMap((one) => one ?? []);
  if (required.length === 0) return listed;
  const candidates = listed.length > 0 ? listed : dataCenters().map(({ id }) => id);
  const fitting = candidates.filter((id) => hasCompliance(id, required));
  if (fitting.length > 0) return fitting;
  const which = listed.length > 0 ? `none of ${listed.join(', ')} has` : 'no data center has';
  throw new Failure('badRequest', `compliance: ${which} ${required.join(' and ')}`);
}

/** A network volume replaces the pod's own storage. */
function toMounts(input: PodContainerInput): PodMounts | undefined {
  const sizeGb = readNumber(input.volumeInGb, 'volumeInGb', { min: 0, fallback: 0 });
  const path = input.volumeMountPath || DEFAULT_MOUNT_PATH;
  if (!path.startsWith('/')) throw new Failure('badRequest', "volumeMountPath: must begin with '/'");
  const volumeId = toId(input.networkVolumeId);
  if (volumeId !== null) return { persistent: null, network: { volumeId, path } };
  return sizeGb === 0 ? undefined : { persistent: { sizeGb, path }, network: null };
}

/** Maps to the type Pod, without live figures. */
export function toPod(pod: Pod, now: number) {
  const { gpu, cpu } = pod;
  const { persistent, network } = pod.mounts;
  return {
    pod,
    id: pod.id,
    name: pod.name,
    imageName: pod.image,
    env: Object.entries(pod.env).map(([name, value]) => `${name}=${value}`),
    desiredStatus: DESIRED_STATUS[pod.status],
    costPerHr: pod.costPerHour,
    containerDiskInGb: pod.diskGb,
    dockerArgs: pod.args,
    dockerId: null,
    gpuCount: gpu?.count ?? 0,
    memoryInGb: cpu?.memory ?? null,
    vcpuCount: cpu?.vcpuCount ?? null,
    podType: 'RESERVED',
    adjustedCostPerHr: pod.costPerHour,
    statusReason: pod.statusReason,
    locked: pod.isLocked,
    containerRegistryAuthId: pod.registryId,
    cpuFlavorId: cpu?.id ?? null,
    stopAfter: pod.stopAt?.toISOString() ?? null,
    terminateAfter: pod.terminateAt?.toISOString() ?? null,
    lastStartedAt: pod.startedAt?.toISOString() ?? null,
    ports: pod.ports.join(','),
    volumeInGb: persistent?.sizeGb ?? 0,
    volumeMountPath: persistent?.path ?? network?.path ?? '',
    networkVolumeId: network?.volumeId ?? null,
    templateId: pod.templateId,
    clusterIp: pod.cluster?.ip ?? null,
    clusterIdx: pod.cluster?.rank ?? null,
    clusterRole: pod.cluster && (pod.cluster.rank === 0 ? 'PRIMARY' : 'WORKER'),
    machineId: pod.dataCenterId,
    uptimeSeconds: podUptimeSeconds(pod, now),
    createdAt: pod.createdAt.toISOString(),
    lastStatusChange: pod.changedAt.toISOString(),
    machine: {
      podHostId: pod.id,
      gpuDisplayName: gpu ? (findGpuType(gpu.id)?.name ?? gpu.id) : null,
      gpuTypeId: gpu?.id ?? null,
      location: findDataCenter(pod.dataCenterId)?.region ?? null,
      dataCenterId: pod.dataCenterId,
      secureCloud: pod.cloud === 'SECURE',
      costPerHr: pod.costPerHour,
    },
  };
}

/** The live figures of a running pod, as the type PodTelemetry. */
export function toPodTelemetry(pod: Pod, usage: PodUsage | undefined, now: number) {
  const { cpuUtil, memoryUtil, gpus } = podRuntime(pod, usage, now);
  const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    state: 'running',
    time: new Date(now).toISOString(),
    cpuUtilization: cpuUtil,
    memoryUtilization: memoryUtil,
    averageGpuMetrics:
      gpus.length === 0
        ? null
        : {
            percentUtilization: average(gpus.map(({ util }) => util)),
            memoryUtilization: average(gpus.map((gpu) => gpu.memoryUtil)),
          },
    individualGpuMetrics: gpus.map(({ util, memoryUtil: memory }, i) => ({
      id: `${pod.id}-${i}`,
      percentUtilization: util,
      memoryUtilization: memory,
    })),
    lastStateTransitionTimestamp: Math.floor(pod.changedAt.getTime() / 1000),
  };
}

/** The live figures of a running pod, as the type PodRuntime. */
export function toPodRuntime(pod: Pod, usage: PodUsage | undefined, now: number) {
  const { uptimeSeconds, cpuUtil, memoryUtil, gpus } = podRuntime(pod, usage, now);
  return {
    uptimeInSeconds: uptimeSeconds,
    ports: pod.publishedPorts.map((port) => ({
      ip: port.ip,
      isIpPublic: port.public !== null,
      privatePort: port.private,
      publicPort: port.public,
      type: port.type,
    })),
    gpus: gpus.map(({ util, memoryUtil }, i) => ({
      id: `${pod.id}-${i}`,
      gpuUtilPercent: util,
      memoryUtilPercent: memoryUtil,
    })),
    container: { cpuPercent: cpuUtil, memoryPercent: memoryUtil },
  };
}
