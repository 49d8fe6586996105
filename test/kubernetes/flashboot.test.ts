import { afterAll, beforeAll } from 'vitest';
import { flashbootTests } from '../e2e/flashboot.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { needImages } from './images.ts';
import { type ClusterPlace, placeOnCluster } from './place.ts';

describeOnCluster('FlashBoot with pods of a cluster, which are parked', () => {
  let cluster: Cluster;
  let place: ClusterPlace;
  beforeAll(async () => {
    cluster = await Cluster.use();
    await needImages(cluster, 'podyard/echo-js:dev');
    place = await placeOnCluster(cluster, { gpus: 1 });
  });
  afterAll(() => cluster?.dispose());

  flashbootTests('kubernetes', () => place);
});
