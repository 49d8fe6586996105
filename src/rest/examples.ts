import type { FailureKind } from '../core/errors.ts';
import {
  CLUSTER_REPORT,
  ENDPOINT_REPORT,
  NETWORK_VOLUME_REPORT,
  POD_REPORT,
  type ReportShape,
  SERVERLESS_REPORT,
  TOTAL_REPORT,
} from './billing/billing-schemas.ts';

/**
 * What the description shows of each named schema and each refusal: one small cloud, told consistently. A test validates
 * every example against its schema, and fails for a schema without one.
 */
const ENDPOINT_ID = 'k3v8q2m7c1x9za';
const USER_ID = 'usr1f7w2k9d4hs';
const CREATED_AT = '2026-11-20T09:30:00.000Z';
const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKv0f9o0Wq1l7y1cXn5S7h2m3b4t8z6d9e0pQwErTyUi alice@laptop';
const PUBLIC_URL = 'https://cloud.example.org';

const container = {
  image: 'ghcr.io/example/transcriber:1.4.0',
  args: '--model large',
  disk: 20,
  ports: ['8000/http'],
  env: { LOG_LEVEL: 'info' },
  registry: null,
};

const settings = {
  name: 'transcriber',
  gpu: { pools: ['ADA_24', 'AMPERE_24'], count: 1 },
  workers: { min: 0, max: 3 },
  scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 5 },
  dataCenterIds: [],
  networkVolumes: ['v5n2b8r0t6y4wq'],
  timeout: 300_000,
  flashboot: 'OFF',
};

const endpoint = {
  id: ENDPOINT_ID,
  ...settings,
  ...container,
  type: 'QUEUE_BASED',
  requestUrls: {
    run: `${PUBLIC_URL}/v2/${ENDPOINT_ID}/run`,
    runSync: `${PUBLIC_URL}/v2/${ENDPOINT_ID}/runsync`,
  },
  cpu: null,
  createdAt: CREATED_AT,
};

const worker = {
  id: 'w9h3s6d1f8g2jk',
  status: 'RUNNING',
  isStale: false,
  version: 2,
  image: container.image,
  gpuCount: 1,
  gpuTypeId: 'NVIDIA GeForce RTX 4090',
  dataCenterId: 'LOCAL-1',
  uptimeSeconds: 412,
  startedAt: '2026-11-20T10:02:11.000Z',
  reason: null,
};

const workerDetail = {
  ...worker,
  decision: 'a job waits and there is no worker',
  createdAt: '2026-11-20T10:02:09.120Z',
  frozenAt: null,
  frozenMemoryBytes: null,
  endedAt: null,
  exitCode: null,
  timeline: [
    { stage: 'capacity', from: '2026-11-20T10:02:09.120Z', to: '2026-11-20T10:02:09.131Z', ms: 11 },
    { stage: 'pull', from: '2026-11-20T10:02:09.131Z', to: '2026-11-20T10:02:10.702Z', ms: 1571 },
    { stage: 'create', from: '2026-11-20T10:02:10.702Z', to: '2026-11-20T10:02:10.761Z', ms: 59 },
    { stage: 'start', from: '2026-11-20T10:02:10.761Z', to: '2026-11-20T10:02:11.000Z', ms: 239 },
    { stage: 'ready', from: '2026-11-20T10:02:11.000Z', to: '2026-11-20T10:02:11.415Z', ms: 415 },
  ],
};

const decision = {
  at: '2026-11-20T10:02:09.119Z',
  wanted: 1,
  reason: 'a job waits and there is no worker',
  inputs: {
    version: 2,
    min: 0,
    max: 3,
    scaler: { type: 'QUEUE_DELAY', value: 4 },
    queued: 1,
    queuedLowPriority: 0,
    inProgress: 0,
    oldestWaitMs: 3,
    workers: { pending: 0, starting: 0, idle: 0, busy: 0, leaving: 0, frozen: 0 },
    outdated: 0,
    failedStarts: 0,
  },
  actions: [{ kind: 'start', workerId: worker.id, reason: 'a job waits and there is no worker' }],
};

const release = {
  id: 'r4t7y1u8i2o5pl',
  version: 2,
  source: 'MANUAL',
  buildId: null,
  createdByUserId: USER_ID,
  workerCount: 1,
  createdAt: '2026-11-20T10:00:00.000Z',
  diff: [{ field: 'image', old: 'ghcr.io/example/transcriber:1.3.2', new: container.image }],
};

const rollout = {
  inProgress: false,
  workersOnLatest: 1,
  workersTotal: 1,
  percentOnLatest: 100,
  paused: false,
};

const template = {
  id: 't8p3l5k1m6n9bv',
  ...container,
  name: 'transcriber-base',
  mounts: {},
  serverless: true,
  public: false,
  category: 'NVIDIA',
};

const podSettings = {
  name: 'notebook',
  image: 'ghcr.io/example/notebook:2.1.0',
  args: '',
  disk: 20,
  ports: ['8888/http', '22/tcp'],
  env: { JUPYTER_TOKEN: '{{ RUNPOD_SECRET_jupyter }}' },
  registry: null,
  gpu: { id: 'NVIDIA GeForce RTX 4090', count: 1 },
  mounts: { persistent: { size: 50, path: '/workspace' } },
  cloud: 'SECURE',
};
const pod = {
  id: 'p6f3k9x2m5h8rd',
  ...podSettings,
  status: 'RUNNING',
  actions: ['stop', 'restart', 'terminate'],
  dataCenterId: 'LOCAL-1',
  template: null,
  cost: 0.69,
  locked: false,
  globalNetworking: { enabled: false, ip: null, internalDns: null },
  runtime: {
    uptime: 754,
    gpus: [{ util: 87, memoryUtil: 41.5 }],
    cpu: { util: 12.5 },
    memory: { util: 33 },
    ports: [
      { private: 8888, public: null, type: 'http', ip: null },
      { private: 22, public: 32768, type: 'tcp', ip: '127.0.0.1' },
    ],
  },
  createdAt: CREATED_AT,
  startedAt: '2026-11-20T09:30:07.000Z',
};

const volume = {
  id: 'v5n2b8r0t6y4wq',
  name: 'models',
  size: 100,
  dataCenter: 'LOCAL-1',
  type: 'STANDARD',
  usedBytes: 0,
};
const registry = { id: 'c2x7z4a9s1d6fg', name: 'ghcr' };

const REPOSITORY_ARN = 'arn:aws:ecr:eu-central-1:123456789012:repository/team/transcriber';
const delegation = {
  id: 'd6j1k8l3q5w0er',
  name: 'team images',
  delegatorUserId: USER_ID,
  awsUser: '123456789012',
  repository: 'team/transcriber',
  tag: null,
  awsRegion: 'eu-central-1',
  dockerRegistryUri: '123456789012.dkr.ecr.eu-central-1.amazonaws.com/team/transcriber',
  createdAt: CREATED_AT,
};

const inDataCenters = [{ id: 'LOCAL-1', name: 'This machine', availability: 'MEDIUM' }];
const gpuType = {
  id: 'NVIDIA GeForce RTX 4090',
  name: 'RTX 4090',
  pool: 'ADA_24',
  manufacturer: 'NVIDIA',
  memory: 24,
  secure: true,
  community: true,
  price: { secure: 0.69, community: 0.34 },
  maxCount: { secure: 8, community: 8 },
  availability: 'MEDIUM',
  dataCenters: inDataCenters,
};
const cpuFlavor = {
  id: 'cpu3c',
  name: 'Compute-Optimized (3rd generation)',
  group: '3rd generation',
  vcpu: { min: 2, max: 32 },
  ramGbPerVcpu: 2,
  price: { securePerVcpu: 0.03, serverlessPerVcpu: 0.036 },
  availability: 'MEDIUM',
  dataCenters: inDataCenters,
};
const dataCenter = {
  id: 'LOCAL-1',
  name: 'This machine',
  region: 'UNKNOWN',
  globalNetwork: true,
  networkVolumeTypes: ['STANDARD'],
  compliance: [],
  gpuAvailability: [{ id: gpuType.id, name: gpuType.name, availability: 'MEDIUM' }],
  cpuAvailability: [{ id: cpuFlavor.id, name: cpuFlavor.name, availability: 'MEDIUM' }],
};

const secret = {
  id: 's7d4k1w8n3x6bc',
  name: 'HUB_TOKEN',
  description: 'Reads the private models',
  usedBy: [{ kind: 'endpoint', id: ENDPOINT_ID, name: 'transcriber' }],
  createdAt: CREATED_AT,
  updatedAt: CREATED_AT,
};

const apiKey = {
  id: 'a1q9w3e7r5t2yu',
  name: 'deploy',
  scopes: ['serverless:write', `invoke/${ENDPOINT_ID}`],
  createdAt: CREATED_AT,
  expiresAt: '2027-11-20T00:00:00.000Z',
};

const { id: _, ...newTemplate } = template;

const DETAILS: Record<FailureKind, string> = {
  badRequest: 'workers.min (5) must not be greater than workers.max (3)',
  unauthorized: 'invalid bearer token',
  forbidden: 'access denied',
  notFound: 'Endpoint not found',
  methodNotAllowed: 'method not allowed',
  conflict: 'The record has changed meanwhile.',
  contentTooLarge: 'The request body is too large.',
  unsupportedMediaType: 'The request body must be application/json.',
  unprocessable: 'Request validation failed.',
  tooManyRequests: 'rate limit exceeded for the minute window',
  requestTimeout: 'The request headers did not come in time.',
  misdirected: 'This process does not serve the API (role api): it serves jobs and requests (data).',
  headersTooLarge: 'The request headers are larger than 32 KiB.',
  internal: 'An unexpected error occurred.',
  badGateway: 'The server failed to answer.',
  unavailable: 'The database is not reachable.',
  gatewayTimeout: 'The server did not answer in time.',
};

/** By the `$id` of the schema. */
export const EXAMPLES: Readonly<Record<string, unknown>> = {
  ErrorResponse: problemExample('unprocessable', 422, 'Unprocessable Entity'),
  Pod: pod,
  PodList: { pods: [pod] },
  CreatePodRequest: podSettings,
  UpdatePodRequest: { image: 'ghcr.io/example/notebook:2.2.0' },
  PodActionRequest: { action: 'stop' },
  Endpoint: endpoint,
  EndpointList: { endpoints: [endpoint] },
  CreateEndpointRequest: { ...settings, ...container },
  UpdateEndpointRequest: { workers: { max: 5 }, image: container.image },
  Worker: worker,
  WorkerList: {
    workers: [worker],
    summary: { running: 1, idle: 0, initializing: 0, throttled: 0, unhealthy: 0, total: 1 },
    endpointVersion: 2,
  },
  WorkerDetail: workerDetail,
  Installation: {
    id: 'k2v9q0x4zt',
    version: '0.1.0',
    runtime: 'kubernetes',
    isolation: true,
    gpus: 'REAL',
    freeze: 'PARKED',
    notices: ['Frozen workers are parked here'],
  },
  Simulation: { gpus: [{ pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 4 }], slowPull: null },
  SimulateRequest: { action: 'capacity', pool: 'ADA_24', dataCenterId: 'EU-RO-1', total: 0 },
  DecisionList: { decisions: [decision] },
  Release: release,
  Rollout: rollout,
  ChangeRolloutRequest: { action: 'pause' },
  ReleaseList: {
    endpointVersion: 2,
    rollout,
    releases: [release],
  },
  Template: template,
  TemplateList: { templates: [template] },
  CreateTemplateRequest: newTemplate,
  UpdateTemplateRequest: { image: 'ghcr.io/example/transcriber:1.5.0' },
  NetworkVolume: volume,
  NetworkVolumeList: { networkVolumes: [volume] },
  CreateNetworkVolumeRequest: { name: volume.name, size: volume.size, dataCenter: volume.dataCenter },
  UpdateNetworkVolumeRequest: { size: 200 },
  Registry: registry,
  RegistryList: { registries: [registry] },
  CreateRegistryRequest: { name: 'ghcr', username: 'robot', password: 'a token of the registry' },
  Delegation: delegation,
  DelegationList: { delegations: [delegation] },
  CreateDelegationRequest: { resource: REPOSITORY_ARN, name: 'team images' },
  GpuType: gpuType,
  GpuTypeList: { gpus: [gpuType] },
  CpuFlavor: cpuFlavor,
  CpuFlavorList: { cpus: [cpuFlavor] },
  DataCenter: dataCenter,
  DataCenterList: { dataCenters: [dataCenter] },
  ...Object.fromEntries(
    [TOTAL_REPORT, POD_REPORT, SERVERLESS_REPORT, ENDPOINT_REPORT, NETWORK_VOLUME_REPORT, CLUSTER_REPORT].map(
      (shape) => [shape.name, billingExample(shape)],
    ),
  ),
  Account: { id: USER_ID, name: 'alice', email: 'alice@example.org', createdAt: CREATED_AT },
  ApiKey: apiKey,
  ApiKeyList: { apiKeys: [apiKey] },
  CreateApiKeyRequest: { name: apiKey.name, scopes: apiKey.scopes, expiresAt: apiKey.expiresAt },
  Secret: secret,
  SecretList: { secrets: [secret] },
  CreateSecretRequest: { name: secret.name, value: 'a token of the hub', description: secret.description },
  UpdateSecretRequest: { value: 'a newer token of the hub' },
  SshKeyList: { sshKeys: [SSH_KEY] },
  ReplaceSshKeysRequest: { sshKeys: [SSH_KEY] },
  CreatedApiKey: { ...apiKey, secret: 'pyk_shown_once_and_never_again' },
};

/** The error record of a refusal, as a client may get it. */
export function problemExample(kind: FailureKind, status: number, title: string): object {
  const errors = ["/gpu: additional property 'type' is not allowed", '/workers/max: must be >= 0'];
  return { title, status, detail: DETAILS[kind], ...(kind === 'unprocessable' && { errors }) };
}

/** One day of one resource. Its first amount is the total, the second all that it is made of. */
function billingExample({ resource, amounts }: ReportShape): object {
  const bucket = { startTime: '2026-11-19T00:00:00.000Z', endTime: '2026-11-20T00:00:00.000Z' };
  const usd = Object.fromEntries(amounts.map((amount, i) => [amount, i < 2 ? 1.25 : 0]));
  const named = resource && { [resource.idField]: ENDPOINT_ID };
  return {
    records: [{ ...bucket, ...named, ...usd }],
    metadata: {
      query: { ...bucket, bucketSize: 'day', ...(resource && { [resource.idField]: null }) },
      recordCount: 1,
      ...(resource && { [resource.countField]: 1 }),
      totals: usd,
    },
  };
}
