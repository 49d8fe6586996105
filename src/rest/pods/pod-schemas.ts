import { POD_ACTIONS } from '../../domain/pods/pod.ts';
import { CREATED_AT, type Examples } from '../shared/example-values.ts';
import { includeQuery } from '../shared/include-query.ts';
import { closed, dateTime, nullableString, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

export const CreatePodQuery = Type.Object({
  private: Type.Optional(Type.Boolean({ description: 'Podyard only: its HTTP ports need a key of its owner.' })),
  stopAfter: Type.Optional(dateTime({ description: 'Podyard only: when it is stopped, in the future.' })),
  terminateAfter: Type.Optional(dateTime({ description: 'Podyard only: when it is terminated, in the future.' })),
});

export const PodActionRequest = closed({ action: stringEnum(POD_ACTIONS) }, { $id: 'PodActionRequest' });

export const PodAccess = closed(
  {
    private: Type.Boolean({
      description:
        'HTTP ports need an API key of the owner that may read the pod: as a bearer token, as the password of Basic authentication, or in the header `X-Podyard-Key`. The pod does not see the key.',
    }),
  },
  { $id: 'PodAccess', description: 'Podyard only: who can reach the HTTP ports of a pod through the proxy.' },
);

const nullableTime = (description: string) => nullableString({ format: 'date-time', description });

export const PodLifetime = closed(
  {
    stopAfter: nullableTime('When the pod is stopped, in the future. Null: never.'),
    terminateAfter: nullableTime('When the pod is terminated, in the future. Null: never.'),
  },
  { $id: 'PodLifetime', description: 'Podyard only: when a pod is stopped and terminated without another request.' },
);

export const PodJupyter = Type.Object(
  {
    password: nullableString({
      description:
        'What `JUPYTER_PASSWORD` holds. Null: the pod starts no Jupyter, never started yet, or has its own in `env`.',
    }),
  },
  { $id: 'PodJupyter', description: 'Podyard only: how to sign in to the Jupyter of a pod.' },
);

export const PodQuery = includeQuery('`REASON`: adds why each pod waits or failed.');

export const PodListQuery = Type.Object({
  ...PodQuery.properties,
  includeClusterPods: Type.Optional(Type.Boolean({ description: 'Also lists the pods of clusters. Default: false.' })),
});

export const PodParams = Type.Object({ id: Type.String({ description: 'Pod identifier.' }) });

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
