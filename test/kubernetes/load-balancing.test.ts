import { afterAll, beforeAll } from 'vitest';
import { loadBalancingTests } from '../e2e/load-balancing.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { needImages } from './images.ts';
import { type ClusterPlace, placeOnCluster } from './place.ts';

describeOnCluster('load-balancing endpoints with pods of a cluster', () => {
  let cluster: Cluster;
  let place: ClusterPlace;
  beforeAll(async () => {
    cluster = await Cluster.use();
    await needImages(cluster, 'podyard/web-js:dev');
    place = await placeOnCluster(cluster, { gpus: 8 });
  });
  afterAll(() => cluster?.dispose());

  loadBalancingTests('kubernetes', () => place);
});
