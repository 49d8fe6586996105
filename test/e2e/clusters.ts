import { afterAll, beforeAll, expect, test } from 'vitest';
import { Api, until } from './api.ts';
import { type RuntimePlace, ServerProcess, type TestedRuntime } from './server-process.ts';

interface Cluster {
  id: string;
  pods: { total: number; byStatus: Record<string, number> };
  network?: { cidr: string };
  primary: { podId: string; status: string };
}

interface ClusterPod {
  id: string;
  name: string;
  status: string;
  cluster: { rank: number; role: string; ip: string | null };
}

/**
 * Each pod sends rank + 1 to the primary, at MASTER_ADDR and MASTER_PORT, until it is taken. The primary adds up what all ranks
 * sent. It answers rank 1's first number with `end`, and rank 1 then exits with an error: it has to come back.
 */
const PROGRAM = `
const { createServer } = require('node:http');
const { NODE_RANK, NUM_NODES, MASTER_ADDR, MASTER_PORT, PRIMARY_ADDR, NODE_ADDR } = process.env;
console.log('rank ' + NODE_RANK + ' of ' + NUM_NODES + ' at ' + NODE_ADDR + ', primary ' + (PRIMARY_ADDR === MASTER_ADDR));
process.on('SIGTERM', () => process.exit(0));
const taken = new Map();
if (NODE_RANK === '0') {
  createServer((req, res) => {
    const [rank, number] = req.url.slice(1).split('/').map(Number);
    if (!Number.isInteger(number)) return res.end('hello from the primary');
    if (taken.has(rank)) console.log('rank ' + rank + ' is back');
    const isFirst = !taken.has(rank);
    taken.set(rank, number);
    if (isFirst && taken.size === Number(NUM_NODES)) console.log('sum ' + [...taken.values()].reduce((a, b) => a + b));
    res.end(rank === 1 && isFirst ? 'end' : 'taken');
  }).listen(Number(MASTER_PORT), '0.0.0.0');
}
const send = async () => {
  const url = 'http://' + MASTER_ADDR + ':' + MASTER_PORT + '/' + NODE_RANK + '/' + (Number(NODE_RANK) + 1);
  const answer = await fetch(url, { signal: AbortSignal.timeout(2000) }).then((r) => r.text()).catch(() => '');
  if (answer === 'end') process.exit(1);
  if (answer === 'taken') setInterval(() => {}, 60000);
  else setTimeout(send, 200);
};
send();
`;
const GPU = 'NVIDIA GeForce RTX 4090';

/** Further steps of a test on one runtime with a running cluster. */
export interface ClusterTestContext {
  api: Api;
  server: ServerProcess;
  linesOf: (podId: string) => Promise<string[]>;
}

/** The life of a cluster on a real server: three programs that find each other and add up a number. */
export function clusterTests(
  runtime: TestedRuntime,
  more: {
    place?: () => RuntimePlace;
    whileItRuns?: (cluster: Cluster, pods: ClusterPod[], context: ClusterTestContext) => Promise<void>;
    afterIt?: (cluster: Cluster, context: ClusterTestContext) => Promise<void>;
  } = {},
): void {
  let server: ServerProcess;
  let api: Api;
  beforeAll(async () => {
    server = await ServerProcess.start({ runtime, ...more.place?.() });
    api = new Api(server);
  });
  afterAll(() => server?.dispose());

  const linesOf = async (podId: string): Promise<string[]> =>
    (
      await server.query<{ line: string }>(
        "select line from log_lines where workload_id = $1 and source = 'container' order by seq",
        [podId],
      )
    ).map(({ line }) => line);

  test('the pods of a cluster find each other by rank, and one that ends comes back', async () => {
    const { id, primary } = await api.call<Cluster>('POST', '/v2/clusters', {
      name: 'sum',
      type: 'TRAINING',
      compute: { gpuTypeId: GPU, gpuCountPerPod: 1, podCount: 3 },
      image: 'podyard/echo-js:dev',
      args: JSON.stringify({ entrypoint: ['node', '-e', PROGRAM] }),
    });
    const said = (line: string) =>
      until(`the primary says ${line}`, async () => (await linesOf(primary.podId)).includes(line), 90_000);
    await said('sum 6');
    await said('rank 1 is back');
    const cluster = await until('all run', async () => {
      const record = await api.call<Cluster>('GET', `/v2/clusters/${id}`);
      return record.pods.byStatus.RUNNING === 3 && record;
    });
    const { pods } = await api.call<{ pods: ClusterPod[] }>('GET', `/v2/clusters/${id}/pods`);
    for (const [rank, pod] of pods.entries()) {
      expect(pod).toMatchObject({ name: `sum-${rank}`, cluster: { rank, ip: expect.any(String) } });
      expect(await linesOf(pod.id)).toContain(`rank ${rank} of 3 at ${pod.cluster.ip}, primary true`);
    }
    const context = { api, server, linesOf };
    await more.whileItRuns?.(cluster, pods, context);

    await api.call('DELETE', `/v2/clusters/${id}`);
    await server.kill();
    await server.start();
    await until('everything is removed', async () => (await server.listWorkloads()).length === 0, 60_000);
    await more.afterIt?.(cluster, context);
  });

  // docs/interface/graphql.md, "Clusters": on Kubernetes only a running pod has an address.
  test.skipIf(runtime === 'kubernetes')(
    'createCluster over GraphQL answers with the addresses of all pods',
    async () => {
      const query = `mutation { createCluster(input: {type: TRAINING, gpuTypeId: "${GPU}", podCount: 2, imageName: "podyard/echo-js:dev"})
      { id pods { clusterIp } } }`;
      const response = await fetch(`${server.url}/graphql?api_key=${server.key}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      });
      const { data } = (await response.json()) as {
        data: { createCluster: { id: string; pods: { clusterIp: string | null }[] } };
      };
      const { id, pods } = data.createCluster;
      expect(pods).toEqual([{ clusterIp: expect.any(String) }, { clusterIp: expect.any(String) }]);
      const rows = await api.call<{ pods: ClusterPod[] }>('GET', `/v2/clusters/${id}/pods`);
      expect(rows.pods.map(({ cluster }) => cluster.ip)).toEqual(pods.map(({ clusterIp }) => clusterIp));
      await api.call('DELETE', `/v2/clusters/${id}`);
      await until('everything is removed', async () => (await server.listWorkloads()).length === 0, 60_000);
    },
  );
}
