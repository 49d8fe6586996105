import { CREATED_AT, type Examples } from '../shared/example-values.ts';

const settings = {
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
  ...settings,
  status: 'RUNNING',
  actions: ['stop', 'restart', 'terminate'],
  dataCenterId: 'LOCAL-1',
  template: null,
  cost: 0.69,
  locked: false,
  globalNetworking: { enabled: false },
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
  cudaVersion: '12.8',
  ssh: {
    proxy: null,
    direct: { host: '127.0.0.1', port: 32768, username: 'root', command: 'ssh root@127.0.0.1 -p 32768' },
  },
  createdAt: CREATED_AT,
  startedAt: '2026-11-20T09:30:07.000Z',
};

export const POD_EXAMPLES: Examples = {
  Pod: pod,
  PodList: { pods: [pod] },
  CreatePodRequest: { ...settings, startSsh: true },
  UpdatePodRequest: { image: 'ghcr.io/example/notebook:2.2.0' },
  PodActionRequest: { action: 'stop' },
  PodAccess: { private: true },
  PodLifetime: { stopAfter: '2030-01-31T18:00:00.000Z', terminateAfter: null },
  PodJupyter: { password: 'Zk3nV0eJtqYx8uWm1sRb5cLdP7fHgA2i' },
};
