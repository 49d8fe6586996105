import { afterAll, beforeAll } from 'vitest';
import { volumeTests } from '../e2e/volumes.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { needImages } from './images.ts';
import { type ClusterPlace, placeOnCluster } from './place.ts';

describeOnCluster('network volumes on a cluster', () => {
  let cluster: Cluster;
  let place: ClusterPlace;
  beforeAll(async () => {
    cluster = await Cluster.use();
    await needImages(cluster, 'podyard/echo-js:dev');
    place = await placeOnCluster(cluster, { gpus: 4 });
  });
  afterAll(() => cluster?.dispose());

  volumeTests('kubernetes', () => place);
});
