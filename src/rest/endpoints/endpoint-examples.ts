import { CONTAINER_EXAMPLE, CREATED_AT, ENDPOINT_ID, type Examples } from '../shared/example-values.ts';

const PUBLIC_URL = 'https://cloud.example.org';

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
  ...CONTAINER_EXAMPLE,
  type: 'QUEUE_BASED',
  requestUrls: {
    run: `${PUBLIC_URL}/v2/${ENDPOINT_ID}/run`,
    runSync: `${PUBLIC_URL}/v2/${ENDPOINT_ID}/runsync`,
  },
  cpu: null,
  createdAt: CREATED_AT,
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
  actions: [
    { kind: 'start', workerId: 'w9h3s6d1f8g2jk', cause: 'DEMAND', reason: 'a job waits and there is no worker' },
  ],
};

export const ENDPOINT_EXAMPLES: Examples = {
  Endpoint: endpoint,
  EndpointList: { endpoints: [endpoint] },
  EndpointState: {
    id: ENDPOINT_ID,
    state: 'FAILING',
    since: '2026-11-20T10:02:09.119Z',
    reason:
      "the last 3 starts failed: it exited with code 1:\nTraceback (most recent call last):\nModuleNotFoundError: No module named 'torch'",
  },
  CreateEndpointRequest: { ...settings, ...CONTAINER_EXAMPLE },
  UpdateEndpointRequest: { workers: { max: 5 }, image: CONTAINER_EXAMPLE.image },
  DecisionList: { decisions: [decision] },
};
