import type { Static } from 'typebox';
import { findGpuType } from '../../domain/catalog/catalog.ts';
import type { Endpoint } from '../../domain/endpoints/endpoint.ts';
import { DESIRED_STATUS, type Pod } from '../../domain/pods/pod.ts';
import type { Worker } from '../../domain/workers/list-workers.ts';
import { dateTime, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';
import { SHOWN_CONTAINER, showContainer } from './v1-container.ts';
import { V1Template } from './v1-templates.ts';
import { V1NetworkVolume } from './v1-volumes.ts';

export const DESIRED = ['RUNNING', 'EXITED', 'TERMINATED'] as const;

const price = Type.Number({ description: 'USD per hour and GPU; 0 where it is not sold.' });
const gpu = Type.Object({
  id: Type.String(),
  count: Type.Integer(),
  displayName: Type.String(),
  securePrice: price,
  communityPrice: price,
});

export const V1Pod = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    ...SHOWN_CONTAINER,
    image: Type.String({ description: 'The same as `imageName`.' }),
    desiredStatus: stringEnum(DESIRED, { description: 'RUNNING also while it starts; EXITED also after a failure.' }),
    lastStatusChange: Type.String({ description: 'The state in the words of version 2, and since when.' }),
    lastStartedAt: Type.Optional(dateTime()),
    createdAt: Type.Optional(dateTime()),
    consumerUserId: Type.String(),
    machineId: Type.String({ description: 'The data center: machines have no ids.' }),
    costPerHr: Type.Number({ description: 'USD; 0 while stopped.' }),
    adjustedCostPerHr: Type.Number({ description: 'The same: there are no savings plans.' }),
    savingsPlans: Type.Array(Type.Object({}), { description: 'Always empty.' }),
    interruptible: Type.Boolean({ description: 'Always false.' }),
    locked: Type.Boolean(),
    volumeEncrypted: Type.Boolean({ description: 'Always false.' }),
    gpu: Type.Optional(gpu),
    gpuCount: Type.Integer({ description: '0 for a CPU pod.' }),
    gpuTypeId: Type.Optional(Type.String()),
    cpuFlavorId: Type.Optional(Type.String({ description: 'CPU pods only.' })),
    vcpuCount: Type.Number({ description: 'Of a CPU pod; 0 for a GPU pod.' }),
    memoryInGb: Type.Number({ description: 'Of a CPU pod; 0 for a GPU pod.' }),
    publicIp: nullableString({ description: 'Where its TCP ports are published; null: not yet, or none.' }),
    portMappings: Type.Unsafe<Record<string, number>>({
      type: 'object',
      additionalProperties: { type: 'integer' },
      description: 'Published port by port of the container.',
    }),
    templateId: Type.Optional(Type.String()),
    networkVolumeId: Type.Optional(Type.String()),
    endpointId: Type.Optional(Type.String({ description: 'Of a worker: its endpoint.' })),
    aiApiId: Type.Optional(Type.String({ description: 'The same as `endpointId`.' })),
    slsVersion: Type.Optional(Type.Integer({ description: 'Of a worker: its release.' })),
    machine: Type.Optional(
      Type.Object({
        dataCenterId: Type.String(),
        gpuTypeId: Type.Optional(Type.String()),
        gpuDisplayName: Type.Optional(Type.String()),
        secureCloud: Type.Boolean(),
        supportPublicIp: Type.Boolean(),
        costPerHr: Type.Number(),
      }),
    ),
    networkVolume: Type.Optional(ref(V1NetworkVolume)),
    template: Type.Optional(ref(V1Template)),
  },
  { $id: 'Pod' },
);
export const V1Pods = Type.Array(ref(V1Pod), { $id: 'Pods' });

function showGpu({ id, count }: { id: string; count: number }): Static<typeof gpu> {
  const type = findGpuType(id);
  const { secure, community } = type?.price ?? { secure: null, community: null };
  return { id, count, displayName: type?.name ?? id, securePrice: secure ?? 0, communityPrice: community ?? 0 };
}

/** Maps a pod, without what a query may include. */
export function showPod(pod: Pod): Static<typeof V1Pod> {
  const { persistent, network } = pod.mounts;
  const published = pod.publishedPorts.filter((port) => port.public !== null);
  return {
    id: pod.id,
    name: pod.name,
    ...showContainer(pod),
    image: pod.image,
    volumeInGb: persistent?.sizeGb ?? 0,
    volumeMountPath: persistent?.path ?? network?.path ?? '',
    desiredStatus: DESIRED_STATUS[pod.status],
    lastStatusChange: `${pod.status} since ${pod.changedAt.toISOString()}`,
    ...(pod.startedAt && { lastStartedAt: pod.startedAt.toISOString() }),
    createdAt: pod.createdAt.toISOString(),
    consumerUserId: pod.userId,
    machineId: pod.dataCenterId,
    costPerHr: pod.costPerHour,
    adjustedCostPerHr: pod.costPerHour,
    ...NEVER,
    locked: pod.isLocked,
    ...(pod.gpu && { gpu: showGpu(pod.gpu), gpuTypeId: pod.gpu.id }),
    gpuCount: pod.gpu?.count ?? 0,
    ...(pod.cpu && { cpuFlavorId: pod.cpu.id }),
    vcpuCount: pod.cpu?.vcpuCount ?? 0,
    memoryInGb: pod.cpu?.memory ?? 0,
    publicIp: published[0]?.ip ?? null,
    portMappings: Object.fromEntries(published.map((port) => [port.private, port.public!])),
    ...(pod.templateId === null ? {} : { templateId: pod.templateId }),
    ...(network && { networkVolumeId: network.volumeId }),
  };
}

const NEVER = { savingsPlans: [], interruptible: false, volumeEncrypted: false };

export function showMachine(pod: Pod): NonNullable<Static<typeof V1Pod>['machine']> {
  return {
    dataCenterId: pod.dataCenterId,
    ...(pod.gpu && { gpuTypeId: pod.gpu.id, gpuDisplayName: showGpu(pod.gpu).displayName }),
    secureCloud: pod.cloud === 'SECURE',
    supportPublicIp: pod.publishedPorts.some((port) => port.public !== null),
    costPerHr: pod.costPerHour,
  };
}

/** Maps a live worker of an endpoint, with the endpoint's container settings. */
export function showWorker(worker: Worker, endpoint: Endpoint): Static<typeof V1Pod> {
  const { gpuTypeId, gpuCount, startedAt } = worker;
  return {
    id: worker.id,
    name: endpoint.name,
    ...showContainer(endpoint),
    image: worker.image,
    imageName: worker.image,
    volumeInGb: 0,
    volumeMountPath: '',
    desiredStatus: 'RUNNING',
    lastStatusChange: `${worker.status}${startedAt ? ` since ${startedAt.toISOString()}` : ''}`,
    ...(startedAt && { lastStartedAt: startedAt.toISOString() }),
    consumerUserId: endpoint.userId,
    machineId: worker.dataCenterId ?? '',
    costPerHr: 0,
    adjustedCostPerHr: 0,
    ...NEVER,
    locked: false,
    ...(gpuTypeId !== null && { gpu: showGpu({ id: gpuTypeId, count: gpuCount }), gpuTypeId }),
    gpuCount,
    vcpuCount: 0,
    memoryInGb: 0,
    publicIp: null,
    portMappings: {},
    endpointId: endpoint.id,
    aiApiId: endpoint.id,
    slsVersion: worker.version,
  };
}
