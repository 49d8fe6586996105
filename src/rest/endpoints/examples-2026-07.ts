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

export const ENDPOINT_EXAMPLES_2026_07: Examples = {
  Endpoint: endpoint,
  EndpointList: { endpoints: [endpoint] },
  CreateEndpointRequest: { ...settings, ...CONTAINER_EXAMPLE },
  UpdateEndpointRequest: { workers: { max: 5 }, image: CONTAINER_EXAMPLE.image },
};
