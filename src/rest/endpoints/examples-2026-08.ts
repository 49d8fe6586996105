import { CONTAINER_EXAMPLE, CREATED_AT, ENDPOINT_ID, type Examples } from '../shared/example-values.ts';

const PATH = `https://cloud.example.org/2026-08/v2/${ENDPOINT_ID}`;

const settings = {
  name: 'transcriber',
  type: 'QUEUE',
  workers: { min: 0, max: 3, idleTimeout: 10 },
  scaling: { type: 'QUEUE_DELAY', queueDelay: 4 },
  dataCenterIds: [],
  networkVolumes: ['v5n2b8r0t6y4wq'],
  timeout: 300_000,
  flashboot: 'OFF',
};

const endpoint = {
  id: ENDPOINT_ID,
  ...settings,
  ...CONTAINER_EXAMPLE,
  requestUrls: {
    run: `${PATH}/run`,
    runSync: `${PATH}/runsync`,
    status: `${PATH}/status/{job_id}`,
    stream: `${PATH}/stream/{job_id}`,
    cancel: `${PATH}/cancel/{job_id}`,
    retry: `${PATH}/retry/{job_id}`,
    purgeQueue: `${PATH}/purge-queue`,
    health: `${PATH}/health`,
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

const build = { id: 'b2x7m4q9v1c8za', createdAt: CREATED_AT };

export const ENDPOINT_EXAMPLES_2026_08: Examples = {
  Endpoint: endpoint,
  EndpointList: { endpoints: [endpoint] },
  CreateEndpointRequest: {
    ...settings,
    ...CONTAINER_EXAMPLE,
    gpu: { pools: ['ADA_24', 'AMPERE_24'], excludedTypes: ['NVIDIA L4'], minCudaVersion: '12.8' },
  },
  UpdateEndpointRequest: { workers: { max: 5, idleTimeout: 30 }, scaling: { type: 'REQUEST_COUNT', requestCount: 2 } },
  Build: build,
  BuildList: { builds: [build] },
};
