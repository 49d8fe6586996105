import { CREATED_AT, ENDPOINT_ID, type NamedSchemas, USER_ID } from '../shared/example-values.ts';
import {
  BillingRecord,
  BillingRecords,
  NetworkVolumeBillingRecord,
  NetworkVolumeBillingRecords,
} from './v1-billing.ts';
import { EndpointCreateInput, EndpointUpdateInput, V1Endpoint, V1Endpoints } from './v1-endpoints.ts';
import { V1Error } from './v1-error.ts';
import { PodCreateInput, PodUpdateInput } from './v1-pod-inputs.ts';
import { V1Pod, V1Pods } from './v1-pods.ts';
import { ContainerRegistryAuth, ContainerRegistryAuthCreateInput, ContainerRegistryAuths } from './v1-registries.ts';
import { TemplateCreateInput, TemplateUpdateInput, V1Template, V1Templates } from './v1-templates.ts';
import { NetworkVolumeCreateInput, NetworkVolumeUpdateInput, V1NetworkVolume, V1NetworkVolumes } from './v1-volumes.ts';

const text = 'volumeInGb: the pod has a network volume instead';
const container = {
  imageName: 'ghcr.io/example/notebook:2.1.0',
  containerDiskInGb: 50,
  dockerEntrypoint: [],
  dockerStartCmd: ['python', 'serve.py'],
  env: { LOG_LEVEL: 'info' },
  ports: ['8888/http', '22/tcp'],
  volumeInGb: 20,
  volumeMountPath: '/workspace',
};
const volume = { id: 'v2m9k4x7c1q8za', name: 'models', size: 100, dataCenterId: 'LOCAL-1' };
const template = {
  id: 't5h2q9m4x8k1ra',
  name: 'notebook',
  ...container,
  category: 'NVIDIA',
  isPublic: false,
  isServerless: false,
  readme: '',
  isRunpod: false,
  earned: 0,
  runtimeInMin: 0,
};
const pod = {
  id: 'p6f3k9x2m5h8rd',
  name: 'notebook',
  ...container,
  image: container.imageName,
  desiredStatus: 'RUNNING',
  lastStatusChange: `RUNNING since ${CREATED_AT}`,
  lastStartedAt: CREATED_AT,
  createdAt: CREATED_AT,
  consumerUserId: USER_ID,
  machineId: 'LOCAL-1',
  costPerHr: 0.69,
  adjustedCostPerHr: 0.69,
  savingsPlans: [],
  interruptible: false,
  locked: false,
  volumeEncrypted: false,
  gpu: {
    id: 'NVIDIA GeForce RTX 4090',
    count: 1,
    displayName: 'RTX 4090',
    securePrice: 0.69,
    communityPrice: 0.34,
  },
  gpuCount: 1,
  gpuTypeId: 'NVIDIA GeForce RTX 4090',
  vcpuCount: 0,
  memoryInGb: 0,
  publicIp: '127.0.0.1',
  portMappings: { 22: 32_768 },
};
const endpointInput = {
  name: 'transcriber',
  templateId: template.id,
  gpuTypeIds: ['NVIDIA GeForce RTX 4090'],
  gpuCount: 1,
  workersMin: 0,
  workersMax: 3,
  idleTimeout: 5,
  scalerType: 'QUEUE_DELAY',
  scalerValue: 4,
  executionTimeoutMs: 300_000,
};
const endpoint = {
  ...endpointInput,
  id: ENDPOINT_ID,
  userId: USER_ID,
  version: 1,
  computeType: 'GPU',
  createdAt: CREATED_AT,
  dataCenterIds: [],
  env: { LOG_LEVEL: 'info' },
  gpuIds: 'ADA_24',
  instanceIds: [],
  locations: '',
  modelReferences: [],
  networkVolumeIds: [],
  flashboot: false,
  flashBootType: 'OFF',
  allowedCudaVersions: [],
};
const registry = { id: 'r8x1m5k2q7h4cd', name: 'ghcr' };
const bill = { time: CREATED_AT, amount: 1.38, diskSpaceBilledGb: 50 };
const usage = { ...bill, timeBilledMs: 7_200_000, gpuTypeId: 'NVIDIA GeForce RTX 4090' };
const storage = { ...bill, highPerformanceStorageAmount: 0, highPerformanceStorageDiskSpaceBilledGb: 0 };

/** Every schema that the description of version 1 lists under its own name, with an example. */
export const V1_SCHEMAS: NamedSchemas = [
  [V1Error, { error: text, message: text, status: 400 }],
  [V1NetworkVolume, volume],
  [V1NetworkVolumes, [volume]],
  [NetworkVolumeCreateInput, { name: 'models', size: 100, dataCenterId: 'LOCAL-1' }],
  [NetworkVolumeUpdateInput, { size: 200 }],
  [V1Template, template],
  [V1Templates, [template]],
  [TemplateCreateInput, { name: 'notebook', imageName: container.imageName }],
  [TemplateUpdateInput, { imageName: 'ghcr.io/example/notebook:2.2.0' }],
  [V1Pod, pod],
  [V1Pods, [pod]],
  [PodCreateInput, { name: 'notebook', imageName: container.imageName, gpuTypeIds: [pod.gpuTypeId] }],
  [PodUpdateInput, { locked: true }],
  [V1Endpoint, endpoint],
  [V1Endpoints, [endpoint]],
  [EndpointCreateInput, endpointInput],
  [EndpointUpdateInput, { workersMax: 5 }],
  [ContainerRegistryAuth, registry],
  [ContainerRegistryAuths, [registry]],
  [ContainerRegistryAuthCreateInput, { name: 'ghcr', username: 'octocat', password: 'a-token-with-read-access' }],
  [BillingRecord, usage],
  [BillingRecords, [usage]],
  [NetworkVolumeBillingRecord, storage],
  [NetworkVolumeBillingRecords, [storage]],
];
