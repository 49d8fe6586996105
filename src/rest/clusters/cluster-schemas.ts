import { CLUSTER_TYPES } from '../../domain/clusters/cluster.ts';
import { POD_STATUSES } from '../../domain/pods/pod.ts';
import { mounts } from '../pods/pod-fields.ts';
import { CONTAINER_FIELDS } from '../shared/container-fields.ts';
import { CREATED_AT, type NamedSchemas } from '../shared/example-values.ts';
import { membersOf } from '../shared/fields.ts';
import { includeQuery } from '../shared/include-query.ts';
import { byDefault, closed, dateTime, MAX_INTEGER, nullableString, ref, stringEnum } from '../shared/schema.ts';
import { Type } from '../shared/type.ts';

const name = Type.String({
  minLength: 1,
  description: 'Cluster name. Its pods are named after it when it is created.',
});
const type = stringEnum(CLUSTER_TYPES, { description: 'Kept and shown. All types start their image alike.' });
const compute = closed(
  {
    gpuTypeId: Type.String({ description: 'GPU type, as listed by `GET /v2/catalog/gpus`.' }),
    gpuCountPerPod: Type.Integer({ minimum: 1, maximum: MAX_INTEGER }),
    podCount: Type.Integer({ minimum: 2, maximum: 250 }),
  },
  { description: 'What each pod gets, and how many pods there are. Fixed.' },
);
const { registryId: _, ...container } = CONTAINER_FIELDS;

export const CreateClusterRequest = closed(
  {
    name,
    type,
    compute,
    ...membersOf(container, 'create'),
    mounts: Type.Optional(byDefault(mounts, {})),
    dataCenterIds: Type.Optional(
      byDefault(Type.Array(Type.String(), { description: 'Preferred first; empty for any. All pods are in one.' }), []),
    ),
    startSsh: Type.Optional(
      byDefault(Type.Boolean({ description: 'Puts the account’s SSH keys into `PUBLIC_KEY`.' }), false),
    ),
    startJupyter: Type.Optional(
      byDefault(Type.Boolean({ description: 'Makes a `JUPYTER_PASSWORD`, unless `env` has one.' }), false),
    ),
    templateId: Type.Optional(
      Type.String({
        description:
          'A template for pods, own or public. Its container settings and mount are copied once. The request’s values win; `env` is merged by name.',
      }),
    ),
  },
  {
    $id: 'CreateClusterRequest',
    description: '`image` is required unless a template provides one.',
    if: { not: { required: ['templateId'] } },
    // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema
    then: { required: ['image'] },
  },
);

export const UpdateClusterRequest = closed(
  { name: Type.Optional(name) },
  { $id: 'UpdateClusterRequest', description: 'Only the name of a cluster can change.' },
);

const status = stringEnum(POD_STATUSES);

export const ClusterResponse = Type.Object(
  {
    id: Type.String(),
    name,
    type,
    compute,
    pods: Type.Object({
      total: Type.Integer({ minimum: 2 }),
      byStatus: Type.Unsafe<Record<string, number>>({
        type: 'object',
        propertyNames: { enum: [...POD_STATUSES] },
        additionalProperties: { type: 'integer', minimum: 1 },
        description: 'Statuses that no pod has are left out.',
      }),
    }),
    createdAt: dateTime(),
    template: Type.Optional(Type.String({ description: 'Template that it was created from.' })),
    dataCenterId: Type.Optional(Type.String({ description: 'Once it has a place.' })),
    network: Type.Optional(
      Type.Object(
        {
          cidr: Type.String({ description: 'Addresses of the network.' }),
          vxlanId: Type.Optional(Type.Integer({ description: 'Never present: the network is not a VXLAN.' })),
          vxlanPort: Type.Optional(Type.Integer({ description: 'Never present.' })),
        },
        { description: 'Once known, and where the cluster’s network has addresses of its own.' },
      ),
    ),
    primary: Type.Optional(
      Type.Object(
        {
          podId: Type.String(),
          status,
          sshEndpoint: Type.Optional(Type.String({ description: '`host:port`, while its port 22/tcp is published.' })),
        },
        { description: 'The pod of rank 0.' },
      ),
    ),
    reason: Type.Optional(
      nullableString({ description: 'Podyard only, with `include=REASON`: why it waits or failed.' }),
    ),
  },
  { $id: 'Cluster', description: 'Pods that are placed all or none, on a network of their own.' },
);

export const ClusterList = Type.Object(
  { clusters: Type.Array(ref(ClusterResponse)) },
  { $id: 'ClusterList', description: 'The clusters of the account, oldest first, without deleted ones.' },
);

export const ClusterQuery = includeQuery('`REASON`: adds why each cluster waits or failed.');

export const ClusterParams = Type.Object({ id: Type.String({ description: 'Cluster identifier.' }) });

const settings = {
  name: 'pretraining',
  type: 'TRAINING',
  compute: { gpuTypeId: 'NVIDIA GeForce RTX 4090', gpuCountPerPod: 2, podCount: 3 },
};

const cluster = {
  id: 'c8w2n5q9t4k7zb',
  ...settings,
  pods: { total: 3, byStatus: { RUNNING: 3 } },
  createdAt: CREATED_AT,
  dataCenterId: 'LOCAL-1',
  network: { cidr: '198.18.37.0/24' },
  primary: { podId: 'p6f3k9x2m5h8rd', status: 'RUNNING', sshEndpoint: '203.0.113.7:32768' },
};

export const CLUSTER_SCHEMAS: NamedSchemas = [
  [ClusterResponse, cluster],
  [ClusterList, { clusters: [cluster] }],
  [
    CreateClusterRequest,
    {
      ...settings,
      image: 'ghcr.io/example/trainer:4.0.0',
      args: 'torchrun --nnodes=$NUM_NODES train.py',
      ports: ['22/tcp'],
    },
  ],
  [UpdateClusterRequest, { name: 'pretraining-2' }],
];
