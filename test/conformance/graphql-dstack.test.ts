import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GpuStock } from '../../src/domain/catalog/capacity-source.ts';
import { type RestFixture, startRestApp } from '../rest-app.ts';

/**
 * docs/interface/graphql.md, "Clusters": what dstack does with a multi-node run, from the offer to the clean-up, with the fields
 * and arguments that it sends. It reads the addresses only from the response to createCluster, and knows by texts and codes
 * what is gone already. The documents are our own.
 */
const GPU = 'NVIDIA GeForce RTX 4090';
const SSH_PORT = 10_022;

let rest: RestFixture;
beforeAll(async () => {
  const gpu: GpuStock = {
    pool: 'ADA_24',
    gpuTypeId: GPU,
    dataCenterId: 'EU-RO-1',
    total: 16,
    free: 16,
    cudaVersion: '12.8',
  };
  rest = await startRestApp({ capacity: { read: async () => ({ gpus: [gpu], cpus: 64, memoryBytes: 2 ** 38 }) } });
});
afterAll(() => rest.close());

async function ask(query: string, variables?: object) {
  const response = await rest.callGraphql({
    method: 'POST',
    url: `/graphql?api_key=${rest.alice.key}`,
    headers: { 'content-type': 'application/json' },
    payload: JSON.stringify({ query, ...(variables && { variables }) }),
  });
  expect(response.statusCode, response.body).toBe(200);
  return response.json();
}

async function send(query: string, variables?: object) {
  const { data, errors } = await ask(query, variables);
  expect(errors, query).toBeUndefined();
  return data;
}

/** As control does once the cluster has a place. */
async function putOnNetwork(): Promise<void> {
  const { pool } = rest.database;
  const { rows } = await pool.query("select id from clusters where phase = 'WAITING' and phase_reason is null");
  for (const { id } of rows) {
    await pool.query(
      "update pods set wanted = 'RUN', cluster_ip = '198.18.7.' || (cluster_rank + 2) where cluster_id = $1",
      [id],
    );
    await pool.query("update clusters set phase = 'STARTING', cidr = '198.18.7.0/24' where id = $1", [id]);
  }
}

/** As control does once the containers run. */
async function run(clusterId: string): Promise<void> {
  await rest.database.pool.query(
    `update pods set phase = 'RUNNING', phase_revision = revision, started_at = now(),
       published_ports = jsonb_build_array(jsonb_build_object(
         'private', ${SSH_PORT}, 'public', 32768 + cluster_rank, 'type', 'tcp', 'ip', '192.0.2.1'))
     where cluster_id = $1`,
    [clusterId],
  );
}

const POD = `id clusterIp containerDiskInGb costPerHr desiredStatus dockerArgs dockerId env gpuCount imageName lastStatusChange
  machineId memoryInGb name podType port ports uptimeSeconds vcpuCount volumeInGb volumeMountPath
  runtime { ports { ip isIpPublic privatePort publicPort type } } machine { gpuDisplayName }`;
const command = JSON.stringify(JSON.stringify({ cmd: ['sleep 1'], entrypoint: ['/bin/sh', '-c'] }));

const createCluster = (fields: string) => `mutation { createCluster(input: {
    clusterName: "run-0", gpuTypeId: "${GPU}", podCount: 2, imageName: "ghcr.io/me/app:1", type: TRAINING, gpuCountPerPod: 4,
    deployCost: 5.52, dataCenterId: "EU-RO-1", containerDiskInGb: 30, dockerArgs: ${command},
    env: [{ key: "RUNPOD_POD_USER", value: "0" }], ports: "${SSH_PORT}/tcp", ${fields}
  }) { id name pods { id clusterIp lastStatusChange imageName machine { podHostId } } } }`;
const deleteCluster = (id: string) => `mutation { deleteCluster(input: { id: "${id}" }) }`;

async function withControl<T>(action: Promise<T>): Promise<T> {
  let isDone = false;
  const done = action.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await putOnNetwork();
    await new Promise((resolve) => setImmediate(resolve));
  }
  return done;
}

describe('a run on several nodes', () => {
  test('creates a cluster, gets its addresses at once, reads each pod, and deletes it twice', async () => {
    const { createCluster: cluster } = await withControl(send(createCluster('minCudaVersion: "12.8"')));
    expect(cluster).toMatchObject({ id: expect.any(String), name: 'run-0' });
    expect(cluster.pods).toMatchObject([
      { clusterIp: '198.18.7.2', imageName: 'ghcr.io/me/app:1', machine: { podHostId: expect.any(String) } },
      { clusterIp: '198.18.7.3', lastStatusChange: expect.any(String) },
    ]);
    const [first, second] = cluster.pods;
    const read = async (id: string) => (await send(`query pod { pod(input: {podId: "${id}"}) { ${POD} } }`)).pod;
    expect(await read(first.id)).toMatchObject({ runtime: null, clusterIp: '198.18.7.2', gpuCount: 4 });
    await run(cluster.id);
    const isIpPublic = true;
    expect((await read(second.id)).runtime.ports).toEqual([
      { ip: '192.0.2.1', isIpPublic, privatePort: SSH_PORT, publicPort: 32_769, type: 'tcp' },
    ]);
    expect(await read(second.id)).toMatchObject({
      dockerArgs: JSON.parse(command),
      env: ['RUNPOD_POD_USER=0'],
      containerDiskInGb: 30,
      machine: { gpuDisplayName: 'RTX 4090' },
    });
    expect(await send(deleteCluster(cluster.id))).toEqual({ deleteCluster: true });
    const { data, errors } = await ask(deleteCluster(cluster.id));
    expect(data).toEqual({ deleteCluster: null });
    expect(errors[0]).toMatchObject({ path: ['deleteCluster'], extensions: { code: 'Cluster not found' } });
    const gone = await ask(`mutation { podTerminate(input: { podId: "${first.id}" }) }`);
    expect(gone.errors[0].message).toBe('pod not found to terminate');
  });

  test('passes the credentials of a private image to each pod, with every setting as it is', async () => {
    const { createCluster: cluster } = await withControl(send(createCluster('startSsh: true')));
    const { saveRegistryAuth } = await send(
      'mutation { saveRegistryAuth(input: { name: "abc", username: "u", password: "p" }) { id } }',
    );
    for (const { id } of cluster.pods) {
      const { podEditJob } = await send(`mutation { podEditJob(input: { podId: "${id}" imageName: "ghcr.io/me/app:1"
        containerDiskInGb: 30 containerRegistryAuthId: "${saveRegistryAuth.id}" volumeInGb: 20 }) { id } }`);
      expect(podEditJob).toEqual({ id });
    }
    const { rows } = await rest.database.pool.query(
      'select registry_id, revision from pods where cluster_id = $1 order by cluster_rank',
      [cluster.id],
    );
    const changedOnce = { registry_id: saveRegistryAuth.id, revision: rows[0].revision };
    expect(rows).toEqual([changedOnce, changedOnce]);
    const { errors } = await ask(
      `mutation { podEditJob(input: { podId: "${cluster.pods[0].id}" imageName: "ghcr.io/me/app:2" }) { id } }`,
    );
    expect(errors[0]).toMatchObject({
      message: expect.stringContaining('rank 0 of cluster'),
      extensions: { code: 'CONFLICT' },
    });
    await send(deleteCluster(cluster.id));
  });

  test('mounts a network volume in each pod, and deletes it once', async () => {
    const { createNetworkVolume: volume } = await send(
      'mutation { createNetworkVolume(input: { name: "v", size: 10, dataCenterId: "EU-RO-1" }) { id } }',
    );
    const { createCluster: cluster } = await withControl(
      send(createCluster(`networkVolumeId: "${volume.id}", volumeMountPath: "/data", templateId: "runpod-torch-v21"`)),
    );
    const { pod } = await send(`{ pod(input: {podId: "${cluster.pods[1].id}"}) { ${POD} networkVolumeId } }`);
    expect(pod).toMatchObject({ networkVolumeId: volume.id, volumeMountPath: '/data', volumeInGb: 0 });
    await send(deleteCluster(cluster.id));
    const remove = `mutation { deleteNetworkVolume(input: { id: "${volume.id}" }) }`;
    await rest.database.pool.query('delete from pods where cluster_id = $1', [cluster.id]); // as control, once they are gone
    await send(remove);
    const { errors } = await ask(remove);
    expect(errors[0].message).toContain('Tried to delete nonexistent network volume');
  });

  test('is refused where no driver supports the CUDA version', async () => {
    const { errors } = await ask(createCluster('minCudaVersion: "13.0"'));
    expect(errors[0].message).toContain('There are no longer any instances available');
  });
});

test('a private image of a single pod: the edit names a size of storage that the pod does not have', async () => {
  const { podFindAndDeployOnDemand: pod } = await send(`mutation { podFindAndDeployOnDemand(input: { name: "one",
    imageName: "ghcr.io/me/app:1", gpuTypeId: "${GPU}", cloudType: SECURE, startSsh: true, supportPublicIp: true,
    dataCenterId: "EU-RO-1", gpuCount: 1, volumeInGb: 0, containerDiskInGb: 30, minVcpuCount: 1, minMemoryInGb: 1,
    dockerArgs: ${command}, ports: "${SSH_PORT}/tcp", minCudaVersion: "12.8" }) { id lastStatusChange imageName machine { podHostId } } }`);
  const { saveRegistryAuth } = await send(
    'mutation { saveRegistryAuth(input: { name: "def", username: "u", password: "p" }) { id } }',
  );
  await send(`mutation { podEditJob(input: { podId: "${pod.id}" imageName: "ghcr.io/me/app:1" containerDiskInGb: 30
    containerRegistryAuthId: "${saveRegistryAuth.id}" volumeInGb: 20 }) { id } }`);
  const { pod: read } = await send(
    `{ pod(input: {podId: "${pod.id}"}) { containerRegistryAuthId volumeInGb dockerArgs } }`,
  );
  expect(read).toEqual({
    containerRegistryAuthId: saveRegistryAuth.id,
    volumeInGb: 0,
    dockerArgs: JSON.parse(command),
  });
});

/** Documents of an infrastructure tool and of schedulers of training runs. */
describe('clusters as records', () => {
  test('are created with variables, listed, read, and null once they are gone', async () => {
    const create = `mutation CreateCluster($input: CreateClusterInput!) {
      createCluster(input: $input) { id name type gpuTypeId podCount gpuCountPerPod } }`;
    const input = { gpuTypeId: GPU, podCount: 2, gpuCountPerPod: 1, type: 'SLURM', imageName: 'i:1', deployCost: 2 };
    const { createCluster: cluster } = await send(create, {
      input: {
        ...input,
        startSsh: true,
        dataCenterIds: ['LOCAL-1', 'EU-RO-1'],
        env: [{ key: 'A', value: '1' }],
        allowedCudaVersions: ['12.8', '12.9'],
      },
    });
    const { id } = cluster;
    expect(cluster).toEqual({
      id,
      name: 'cluster',
      type: 'SLURM',
      gpuTypeId: GPU,
      podCount: 2,
      gpuCountPerPod: 1,
    });
    const { myself } = await send(
      'query { myself { pods { id } clusters { id name type gpuTypeId podCount gpuCountPerPod createdAt pods { id } } } }',
    );
    expect(myself.pods.length).toBeLessThan(2);
    const listed = myself.clusters.find((one: { id: string }) => one.id === id);
    expect(listed).toMatchObject({ ...cluster, pods: [{ id: expect.any(String) }, { id: expect.any(String) }] });
    const get = `query GetCluster($id: String!) { myself { cluster(input: { id: $id }) { id name type podCount gpuCountPerPod
      pods { id name clusterIdx clusterRole clusterIp desiredStatus } } } }`;
    expect((await send(get, { id })).myself.cluster.pods).toMatchObject([
      { name: 'cluster-0', clusterIdx: 0, clusterRole: 'PRIMARY', clusterIp: null, desiredStatus: 'RUNNING' },
      { name: 'cluster-1', clusterIdx: 1, clusterRole: 'WORKER', clusterIp: null, desiredStatus: 'RUNNING' },
    ]);
    await send('mutation DeleteCluster($input: DeleteClusterInput!) { deleteCluster(input: $input) }', {
      input: { id },
    });
    expect((await send(get, { id })).myself).toEqual({ cluster: null });
  });
});
