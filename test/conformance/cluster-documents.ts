import { documents, GPU } from './client-document.ts';

const CLUSTER = { gpuTypeId: GPU, podCount: 2, gpuCountPerPod: 8, type: 'TRAINING', imageName: 'i:1', deployCost: 9.5 };
/** Documents of clients about clusters. */
export const CLUSTERS = [
  ...documents('dstack', {
    '07f1313': [
      `mutation { createCluster(input: { clusterName: "<name>", gpuTypeId: "${GPU}", podCount: 2, imageName: "i:1", type: TRAINING,
         gpuCountPerPod: 8, deployCost: 9.50, dataCenterId: "LOCAL-1", containerDiskInGb: 30, dockerArgs: "sleep 1",
         env: [{ key: "RUNPOD_POD_USER", value: "0" }], ports: "10022/tcp", minCudaVersion: "12.8" })
         { id name pods { id clusterIp lastStatusChange imageName machine { podHostId } } } }`,
      `mutation { deleteCluster( input: { id: "<cluster>" } ) }`,
      `query pod { pod(input: {podId: "<pod>"}) { clusterIp } }`,
    ],
  }),
  ...documents('terraform-provider-runpod', {
    '7c6a05c': [
      [
        `mutation CreateCluster($input: CreateClusterInput!) { createCluster(input: $input) { id name type podCount } }`,
        { input: { ...CLUSTER, startSsh: true, dataCenterIds: ['EU-RO-1'], env: [{ key: 'A', value: '1' }] } },
      ],
      [
        `query GetCluster($id: String!) { myself { cluster(input: { id: $id }) { id name type podCount gpuCountPerPod
           pods { id name clusterIdx clusterRole clusterIp desiredStatus } } } }`,
        { id: '<cluster>' },
      ],
      [`mutation DeleteCluster($id: String!) { deleteCluster(input: { id: $id }) }`, { id: '<cluster>' }],
    ],
  }),
  ...documents('skyward', {
    '4433306': [
      [
        `mutation CreateCluster($input: CreateClusterInput!)
           { createCluster(input: $input) { id name pods { id desiredStatus clusterIp clusterIdx } } }`,
        {
          input: { ...CLUSTER, clusterName: '<name>', volumeInGb: 20, volumeMountPath: '/workspace', ports: '22/tcp' },
        },
      ],
      [
        `mutation DeleteCluster($input: DeleteClusterInput!) { deleteCluster(input: $input) }`,
        { input: { clusterId: '<cluster>' } },
      ],
    ],
  }),
  ...documents('bellhop', {
    '5873177': [
      `query { myself { clusters { id name type gpuTypeId podCount gpuCountPerPod createdAt pods { id } } } }`,
      [
        `mutation deleteCluster($input: DeleteClusterInput!) { deleteCluster(input: $input) }`,
        { input: { id: '<cluster>' } },
      ],
    ],
  }),
];
