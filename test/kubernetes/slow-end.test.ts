import { expect, test } from 'vitest';
import { until } from '../e2e/api.ts';
import { fairMs } from '../fair-ms.ts';
import { describeOnOwnCluster } from './cluster.ts';
import { placeOnCluster } from './place.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

describeOnOwnCluster('a node that is slow to end a pod', () => {
  const life = ServerOnCluster.use({
    images: ['podyard/echo-js:dev'],
    place: (cluster) => placeOnCluster(cluster, { gpus: 4 }),
    env: { PODYARD_JOB_STOP_SECONDS: '1' },
  });

  test('a worker that ignores a cancellation is replaced before its pod is gone, with workers.max 1', async () => {
    const { api, cluster } = life;
    const id = await api.createEndpoint({ workers: { min: 0, max: 1 } });
    const hung = await api.run(id, { hang: true });
    await until('it runs', async () => (await api.status(id, hung.id)).status === 'IN_PROGRESS');
    const worker = await until('the node has said that it started', async () => {
      const [first] = await api.workers(id);
      return first?.status === 'RUNNING' && first;
    });
    const resume = await cluster.pause('kubelet');
    try {
      await api.call('POST', `/v2/${id}/cancel/${hung.id}`);
      const next = await api.run(id, { echo: 'after it' });
      const second = await until('another starts', async () =>
        (await api.workers(id)).find((other) => other.id !== worker.id),
      );
      await until('its pod is created', () => life.pod(second.id));
      expect((await life.pod(worker.id))?.metadata.deletionTimestamp).toBeDefined();
      resume();
      expect(await api.ended(id, next.id)).toMatchObject({ status: 'COMPLETED', workerId: second.id });
    } finally {
      resume();
      await api.delete(id);
    }
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
      expect(await fairMs(async () => expect(await server.stop()).toBe(0))).toBeLessThan(10_000);
    } finally {
      resume();
    }
    await server.start();
    await until('it is gone', async () => (await life.pod(worker.id)) === undefined);
  });
});
