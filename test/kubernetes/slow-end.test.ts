import { expect, test } from 'vitest';
import { until } from '../e2e/api.ts';
import { describeOnOwnCluster } from './cluster.ts';
import { placeOnCluster } from './place.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

describeOnOwnCluster('a node that is slow to end a pod', () => {
  const life = ServerOnCluster.use({
    images: ['podyard/echo-js:dev'],
    place: (cluster) => placeOnCluster(cluster, { gpus: 4 }),
  });

  test('SIGTERM of the server does not wait for it; the next server finalizes it', async () => {
    const { api, server, cluster } = life;
    const id = await api.createEndpoint({ workers: { min: 1, max: 1 } });
    const worker = await until('it is ready', async () => {
      const [first] = await api.workers(id);
      return first?.status === 'IDLE' && first;
    });
    const resume = await cluster.pause('kubelet');
    try {
      await api.delete(id);
      await until('its end is asked for', async () => (await life.pod(worker.id))?.metadata.deletionTimestamp);
      const since = performance.now();
      expect(await server.stop()).toBe(0);
      expect(performance.now() - since).toBeLessThan(10_000);
    } finally {
      resume();
    }
    await server.start();
    await until('it is gone', async () => (await life.pod(worker.id)) === undefined);
  });
});
