import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../e2e/api.ts';
import { Cluster, describeOnOwnCluster } from './cluster.ts';

/** The other files in this folder rely on this. */
describeOnOwnCluster('the cluster of the tests', () => {
  let cluster: Cluster;
  let namespace: string;
  beforeAll(async () => {
    cluster = await Cluster.use();
    namespace = await cluster.namespace();
  });
  afterAll(() => cluster?.dispose());

  const pods = () => `/api/v1/namespaces/${namespace}/pods`;
  const create = (name: string, spec: object) =>
    cluster.client.create(pods(), {
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: 'local/busybox:1', ...spec }],
      },
    });
  const phase = async (name: string) => (await cluster.client.find(`${pods()}/${name}`))?.status.phase;

  test('a pod runs and reaches this machine at the given address', async () => {
    const { createServer } = await import('node:http');
    const server = createServer((_, res) => res.end('hello')).listen(0, cluster.hostAddress);
    const { port } = await new Promise<{ port: number }>((resolve) =>
      server.once('listening', () => resolve(server.address() as { port: number })),
    );
    await create('caller', { command: ['wget', '-qO-', `http://${cluster.hostAddress}:${port}`] });
    await until('it has called', async () => {
      const status = (await cluster.client.get(`${pods()}/caller`)).status.containerStatuses?.[0];
      return (
        status?.restartCount > 0 ||
        status?.lastState?.terminated?.exitCode === 0 ||
        status?.state?.terminated?.exitCode === 0
      );
    });
    server.close();
  });

  test('fake nodes have their declared capacity, and pods seem to run there until they are deleted', async () => {
    await cluster.playKubelet();
    const taints = [{ key: 'e2e', effect: 'NoSchedule' as const }];
    const node = await cluster.addNode({ gpus: 1, taints });
    const tolerations = [{ operator: 'Exists' }];
    const wants = (name: string) =>
      cluster.client.create(pods(), {
        metadata: { name },
        spec: {
          tolerations,
          nodeSelector: { 'kubernetes.io/hostname': node },
          containers: [{ name: 'main', image: 'none', resources: { limits: { 'nvidia.com/gpu': '1' } } }],
        },
      });
    await wants('first');
    await until('it runs', async () => (await phase('first')) === 'Running');
    await wants('second');
    await until('the pod says why it waits', async () => {
      const { status } = await cluster.client.get(`${pods()}/second`);
      return status.conditions?.[0]?.message?.includes('Insufficient nvidia.com/gpu');
    });
    await cluster.client.delete(`${pods()}/first`);
    await until('the next one runs', async () => (await phase('second')) === 'Running');
  });

  test('a paused API server does not answer, and continues where it stopped', async () => {
    const resume = await cluster.pause('kube-apiserver');
    const answer = cluster.client.get(pods()).then(() => 'answered');
    const winner = await Promise.race([answer, sleep(1_000, 'silent')]);
    resume();
    expect(winner).toBe('silent');
    expect(await answer).toBe('answered');
  });
});
