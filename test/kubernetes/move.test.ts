import { afterAll, beforeAll } from 'vitest';
import { moveTests } from '../e2e/move.ts';
import type { ServerProcessOptions } from '../e2e/server-process.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { needImages } from './images.ts';
import { placeOnCluster } from './place.ts';

describeOnCluster('from processes of a machine to pods of a cluster', () => {
  let cluster: Cluster;
  let place: Partial<ServerProcessOptions>;
  beforeAll(async () => {
    cluster = await Cluster.use();
    await needImages(cluster, 'podyard/echo-js:dev');
    place = await placeOnCluster(cluster, { gpus: 4 });
  });
  afterAll(() => cluster?.dispose());

  moveTests({ runtime: 'process' }, () => ({ runtime: 'kubernetes', ...place }), { andBack: false });
});
