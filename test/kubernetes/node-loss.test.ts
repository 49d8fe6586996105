import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../e2e/api.ts';
import { describeOnOwnCluster } from './cluster.ts';
import type { FakeKubelet } from './fake-kubelet.ts';
import { placeOnNodes } from './place.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

/** On two fake nodes; the test plays the programs in the pods. */
describeOnOwnCluster('a lost node', () => {
  const mark = `e2e-${crypto.randomUUID().slice(0, 8)}.test/is-for`;
  const life = ServerOnCluster.use({
    place: (cluster) =>
      placeOnNodes(cluster, {
        PODYARD_KUBERNETES_NODE_SELECTOR: `${mark}=tests`,
        PODYARD_KUBERNETES_TOLERATIONS: `${mark}:NoSchedule`,
        PODYARD_SIMULATE_GPUS: 'off', // the nodes are added after the server has started
      }),
  });
  let kubelet: FakeKubelet;
  let nodes: string[];
  beforeEach(async () => {
    kubelet = await life.cluster.playKubelet();
    const labels = { 'nvidia.com/gpu.product': 'NVIDIA-GeForce-RTX-4090', [mark]: 'tests' };
    const taints = [{ key: mark, effect: 'NoSchedule' as const }];
    nodes = await Promise.all([1, 2].map(() => life.cluster.addNode({ gpus: 1, labels, taints })));
  });
  afterEach(async () => {
    for (const node of nodes) await life.cluster.removeNode(node);
  });

  const nodeOf = async (workerId: string) => (await life.pod(workerId))?.spec.nodeName as string | undefined;
  /** Returns the endpoint's worker with a running pod, other than `not`. */
  const workerOf = (id: string, not = ''): Promise<string> =>
    until(
      'a pod runs',
      async () => {
        for (const worker of await life.api.workers(id)) {
          if (worker.id === not) continue;
          if ((await life.pod(worker.id))?.status.phase === 'Running') return worker.id;
        }
        return undefined;
      },
      90_000,
    );

  const ways: Record<string, (node: string) => Promise<void>> = {
    'its object is deleted': (node) => life.cluster.removeNode(node),
    'nothing is heard of it any more': (node) => life.cluster.setReady(node, 'Unknown'),
  };
  for (const [how, lose] of Object.entries(ways)) {
    test(`${how}: its worker is replaced on another node, and its job is redelivered`, async () => {
      const id = await life.api.createEndpoint({ workers: { min: 1, max: 1 } });
      const first = await workerOf(id);
      const job = await life.api.run(id, { echo: 1 });
      const fallen = await life.play(first);
      expect(await fallen.take()).toMatchObject({ status: 200, body: { id: job.id } });
      const node = await nodeOf(first);
      kubelet.lose(node!);
      const lostAt = Date.now();
      await lose(node!);

      const second = await workerOf(id, first);
      console.log(`${how}: the next pod runs after ${Date.now() - lostAt} ms`);
      expect(nodes).toContain(await nodeOf(second));
      expect(await nodeOf(second)).not.toBe(node);
      const replacement = await life.play(second);
      expect(await replacement.take()).toMatchObject({ status: 200, body: { id: job.id } });
      await replacement.done(job.id, JSON.stringify({ output: 'of the replacement' }));
      await fallen.done(job.id, JSON.stringify({ output: 'too late' }));
      expect(await life.api.ended(id, job.id)).toMatchObject({
        status: 'COMPLETED',
        output: 'of the replacement',
        workerId: second,
        retries: 1,
      });
      const [row] = await life.server.query<{ phase_reason: string }>(
        'select phase_reason from workers where id = $1',
        [first],
      );
      expect(row!.phase_reason).toContain(`Node ${node} was lost`);
      await life.api.delete(id);
    });
  }
});
