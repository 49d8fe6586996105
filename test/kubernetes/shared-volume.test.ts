import { expect, test } from 'vitest';
import { until } from '../e2e/api.ts';
import { describeOnCluster } from './cluster.ts';
import { placeOnCluster } from './place.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

/** Writes a file with its name to the volume, and reports once there are two. */
const MEETS = JSON.stringify({
  entrypoint: [
    'node',
    '-e',
    "const { RUNPOD_VOLUME_PATH: at, RUNPOD_POD_ID: id } = process.env; const fs = require('fs'); fs.writeFileSync(at + '/' + id, ''); process.on('SIGTERM', () => process.exit()); setInterval(() => { const names = fs.readdirSync(at); if (names.length === 2) console.log('met ' + names.sort()); }, 500);",
  ],
});

describeOnCluster('a network volume of a cluster', () => {
  const life = ServerOnCluster.use({
    images: ['podyard/echo-js:dev'],
    place: (cluster) => placeOnCluster(cluster, { gpus: 4 }),
  });

  test('two workers mount it at the same time, as one claim', async () => {
    const { api } = life;
    const body = { name: 'shared', size: 10, dataCenter: 'LOCAL-1' };
    const { id: volume } = await api.call<{ id: string }>('POST', '/v2/network-volumes', body);
    const id = await api.createEndpoint({ args: MEETS, networkVolumes: [volume], workers: { min: 2, max: 2 } });
    const workers = await until('there are two', async () => {
      const found = await api.workers(id);
      return found.length === 2 && found.map((worker) => worker.id).sort();
    });
    for (const worker of workers) {
      await api.logs(id, worker, (lines) => lines.some(({ line }) => line === `met ${workers}`), { atMostMs: 90_000 });
    }
    const claims = await life.cluster.client.list(life.path('persistentvolumeclaims'));
    expect(claims.map(({ metadata, status }) => [metadata.labels['podyard.dev/id'], status.phase])).toEqual([
      [volume, 'Bound'],
    ]);
    await api.delete(id);
  });
});
