import { CONTAINER_EXAMPLE, CREATED_AT, ENDPOINT_ID, type NamedSchemas } from '../shared/example-values.ts';
import { DecisionList } from './decision-schemas.ts';
import { EndpointFiguresList, EndpointFiguresResponse } from './figure-schemas.ts';
import { EndpointStateResponse } from './state-schemas.ts';

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
  actions: [
    { kind: 'start', workerId: 'w9h3s6d1f8g2jk', cause: 'DEMAND', reason: 'a job waits and there is no worker' },
  ],
};

const figures = {
  id: ENDPOINT_ID,
  state: 'HEALTHY',
  since: null,
  reason: null,
  warnings: [],
  workers: 2,
  waiting: 0,
  running: 1,
  requests: 1842,
  failed: 3,
  requestsPerSecond: 0.5116666666666667,
  latencyP95Ms: 1204.4,
  costToday: 1.8312,
};

/** The schemas that all revisions share. */
export const ENDPOINT_SCHEMAS: NamedSchemas = [
  [
    EndpointStateResponse,
    {
      id: ENDPOINT_ID,
      state: 'FAILING',
      since: '2026-11-20T10:02:09.119Z',
      reason:
        "the last 3 starts failed: it exited with code 1:\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'torch'",
      warnings: [],
    },
  ],
  [EndpointFiguresResponse, figures],
  [
    EndpointFiguresList,
    {
      figures: [
        { ...figures, series: { stepSeconds: 120, requests: [0, 61, 64], latencyP95Ms: [null, 1180.2, 1211.9] } },
      ],
    },
  ],
  [DecisionList, { decisions: [decision] }],
];

const PATH_07 = `https://cloud.example.org/v2/${ENDPOINT_ID}`;

const settings07 = {
  name: 'transcriber',
  gpu: { pools: ['ADA_24', 'AMPERE_24'], count: 1 },
  workers: { min: 0, max: 3 },
  scaling: { type: 'QUEUE_DELAY', value: 4, idleTimeout: 5 },
  dataCenterIds: [],
  networkVolumes: ['v5n2b8r0t6y4wq'],
  timeout: 300_000,
  flashboot: 'OFF',
};

const endpoint07 = {
  id: ENDPOINT_ID,
  ...settings07,
  ...CONTAINER_EXAMPLE,
  type: 'QUEUE_BASED',
  requestUrls: {
    run: `${PATH_07}/run`,
    runSync: `${PATH_07}/runsync`,
  },
  cpu: null,
  createdAt: CREATED_AT,
};

export const ENDPOINT_EXAMPLES_2026_07 = {
  Endpoint: endpoint07,
  EndpointList: { endpoints: [endpoint07] },
  CreateEndpointRequest: { ...settings07, ...CONTAINER_EXAMPLE },
  UpdateEndpointRequest: { workers: { max: 5 }, image: CONTAINER_EXAMPLE.image },
};

const PATH_08 = `https://cloud.example.org/2026-08/v2/${ENDPOINT_ID}`;

const settings08 = {
  name: 'transcriber',
  type: 'QUEUE',
  workers: { min: 0, max: 3, idleTimeout: 10 },
  scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  dataCenterIds: [],
  networkVolumes: ['v5n2b8r0t6y4wq'],
  timeout: 300_000,
  flashboot: 'OFF',
};

const endpoint08 = {
  id: ENDPOINT_ID,
  ...settings08,
  ...CONTAINER_EXAMPLE,
  requestUrls: {
    run: `${PATH_08}/run`,
    runSync: `${PATH_08}/runsync`,
    status: `${PATH_08}/status/{job_id}`,
    stream: `${PATH_08}/stream/{job_id}`,
    cancel: `${PATH_08}/cancel/{job_id}`,
    retry: `${PATH_08}/retry/{job_id}`,
    purgeQueue: `${PATH_08}/purge-queue`,
    health: `${PATH_08}/health`,
  },
  gpu: {
    pools: ['ADA_24', 'AMPERE_24'],
    count: 1,
    excludedTypes: ['NVIDIA L4'],
    allowedCudaVersions: [],
    minCudaVersion: '12.8',
  },
  createdAt: CREATED_AT,
};

export const ENDPOINT_EXAMPLES_2026_08 = {
  Endpoint: endpoint08,
  EndpointList: { endpoints: [endpoint08] },
  CreateEndpointRequest: {
    ...settings08,
    ...CONTAINER_EXAMPLE,
    gpu: { pools: ['ADA_24', 'AMPERE_24'], excludedTypes: ['NVIDIA L4'], minCudaVersion: '12.8' },
  },
  UpdateEndpointRequest: { workers: { max: 5, idleTimeout: 30 }, scaling: { type: 'REQUEST_COUNT', requestCount: 2 } },
};
