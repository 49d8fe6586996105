import { CREATED_AT, type Examples } from '../shared/example-values.ts';

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

export const CLUSTER_EXAMPLES: Examples = {
  Cluster: cluster,
  ClusterList: { clusters: [cluster] },
  CreateClusterRequest: {
    ...settings,
    image: 'ghcr.io/example/trainer:4.0.0',
    args: 'torchrun --nnodes=$NUM_NODES train.py',
    ports: ['22/tcp'],
  },
  UpdateClusterRequest: { name: 'pretraining-2' },
};
