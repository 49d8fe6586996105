import { afterEach, beforeAll, expect, test } from 'vitest';
import { until, type Worker } from '../e2e/api.ts';
import { type Cluster, describeOnOwnCluster } from './cluster.ts';
import { placeOnNodes } from './place.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

const GPU = 'nvidia.com/gpu.product';
const REGION = 'topology.kubernetes.io/region';
const RTX = 'NVIDIA-GeForce-RTX-4090';
const H100 = 'NVIDIA-H100-80GB-HBM3';

type Explained = Worker & { reason: string | null };

/** On fake nodes with the labels that NVIDIA's operator and clouds set. */
describeOnOwnCluster('the placement of pods', () => {
  const mark = `e2e-${crypto.randomUUID().slice(0, 8)}.test/is-for`;
  const life = ServerOnCluster.use({
    place: (cluster) =>
      placeOnNodes(cluster, {
        PODYARD_KUBERNETES_NODE_SELECTOR: `${mark}=tests`,
        PODYARD_KUBERNETES_TOLERATIONS: `${mark}:NoSchedule`,
        PODYARD_KUBERNETES_PENDING_SECONDS: '3',
        PODYARD_SIMULATE_GPUS: 'off', // the nodes are added after the server has started
      }),
  });
  const addNode = (cluster: Cluster, product: string, gpus: number, region: string, pods?: number) =>
    cluster.addNode({
      gpus,
      ...(pods === undefined ? {} : { pods }),
      labels: { [GPU]: product, [REGION]: region, [mark]: 'tests' },
      taints: [{ key: mark, effect: 'NoSchedule' }],
    });
  const nodes: Record<'romania' | 'romaniaToo' | 'kansas' | 'large', string> = {} as never;
  beforeAll(async () => {
    const { cluster } = life;
    await cluster.playKubelet();
    nodes.romania = await addNode(cluster, RTX, 1, 'EU-RO-1');
    nodes.romaniaToo = await addNode(cluster, RTX, 1, 'EU-RO-1');
    nodes.kansas = await addNode(cluster, RTX, 1, 'US-KS-2');
    nodes.large = await addNode(cluster, H100, 4, 'US-KS-2');
  });

  afterEach(async () => {
    await life.api.deleteAll();
    await until('no pod is left', async () => (await life.cluster.client.list(life.path('pods'))).length === 0);
  });

  const create = (more: { gpu: object; dataCenterIds?: string[] }, workers = 1): Promise<string> =>
    life.api.createEndpoint({ workers: { min: workers, max: workers }, ...more });
  const workersOf = (id: string) => life.api.workers(id) as Promise<Explained[]>;
  /** Returns the nodes of the endpoint's pods once `count` of them run. */
  const nodesOf = (id: string, count = 1): Promise<string[]> =>
    until(`${count} pods of it run`, async () => {
      const pods = await Promise.all((await workersOf(id)).map((worker) => life.pod(worker.id)));
      const running = pods.filter((pod) => pod?.status.phase === 'Running');
      return running.length === count && running.map((pod) => pod!.spec.nodeName).sort();
    });
  const throttled = (id: string, says = ''): Promise<Explained> =>
    until('it is throttled', async () => {
      const workers = await workersOf(id);
      return workers.find(({ status, reason }) => status === 'THROTTLED' && reason?.includes(says));
    });

  test('a worker runs on a node of its pool, with the GPUs that it requests', async () => {
    const large = await create({ gpu: { pools: ['ADA_80_PRO'], count: 2 } }, 2);
    const small = await create({ gpu: { pools: ['ADA_24'] } }, 3);
    expect(await nodesOf(large, 2)).toEqual([nodes.large, nodes.large]);
    expect(await nodesOf(small, 3)).toEqual([nodes.romania, nodes.romaniaToo, nodes.kansas].sort());
    const [worker] = await workersOf(large);
    const pod = await life.pod(worker!.id);
    expect(pod!.spec.containers[0].resources.limits).toMatchObject({ 'nvidia.com/gpu': '2' });
    expect(worker).toMatchObject({ gpuTypeId: 'NVIDIA H100 80GB HBM3', gpuCount: 2, dataCenterId: 'US-KS-2' });
    expect(await life.environment(worker!.id)).toMatchObject({ RUNPOD_DC_ID: 'US-KS-2', RUNPOD_GPU_COUNT: '2' });
  });

  test('two GPUs for one worker are never on two nodes', async () => {
    const id = await create({ gpu: { pools: ['ADA_24'], count: 2 } });
    const { reason } = await throttled(id);
    expect(reason).toContain('no capacity: it needs 2 GPUs together');
    expect(await life.cluster.client.list(life.path('pods'))).toEqual([]);
  });

  test('a worker runs in its data center; if that is full it is THROTTLED with the reason and runs once there is capacity', async () => {
    const gpu = { pools: ['ADA_24'] };
    const first = await create({ gpu, dataCenterIds: ['US-KS-2'] });
    expect(await nodesOf(first)).toEqual([nodes.kansas]);
    const second = await create({ gpu, dataCenterIds: ['US-KS-2'] });
    const { reason } = await throttled(second);
    expect(reason).toBe('no capacity: it needs 1 GPU together in US-KS-2; ADA_24 has 0 of 1 free');
    const elsewhere = await create({ gpu, dataCenterIds: ['EU-RO-1'] });
    expect([nodes.romania, nodes.romaniaToo]).toContain((await nodesOf(elsewhere))[0]);
    await life.api.patch(first, { workers: { min: 0, max: 0 } });
    expect(await nodesOf(second)).toEqual([nodes.kansas]);
  });

  test('GPUs held by pods of others are not available', async () => {
    const other = await life.cluster.namespace();
    await life.cluster.client.create(`/api/v1/namespaces/${other}/pods`, {
      metadata: { name: 'stranger' },
      spec: {
        nodeName: nodes.kansas,
        tolerations: [{ operator: 'Exists' }],
        containers: [{ name: 'main', image: 'none', resources: { limits: { 'nvidia.com/gpu': '1' } } }],
      },
    });
    const id = await create({ gpu: { pools: ['ADA_24'] }, dataCenterIds: ['US-KS-2'] });
    await throttled(id, 'no capacity: it needs 1 GPU together in US-KS-2; ADA_24 has 0 of 0 free');
    await life.cluster.client.delete(`/api/v1/namespaces/${other}/pods/stranger`);
    expect(await nodesOf(id)).toEqual([nodes.kansas]);
  });

  test('a pod that the scheduler cannot place is THROTTLED with its message, not UNHEALTHY', async () => {
    const node = await addNode(life.cluster, 'NVIDIA-L40S', 1, 'EU-RO-1', 0);
    const id = await create({ gpu: { pools: ['ADA_48_PRO'] } });
    await throttled(id, 'Too many pods');
    await life.cluster.removeNode(node);
  });
});
