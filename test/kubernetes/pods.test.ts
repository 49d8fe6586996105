import { afterAll, beforeAll } from 'vitest';
import { podTests } from '../e2e/pods.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { needImages } from './images.ts';
import { type ClusterPlace, placeOnCluster } from './place.ts';

describeOnCluster('pods of a cluster', () => {
  let cluster: Cluster;
  let place: ClusterPlace;
  beforeAll(async () => {
    cluster = await Cluster.use();
    await needImages(cluster, 'podyard/echo-js:dev', 'podyard/echo-js:v2');
    place = await placeOnCluster(cluster, { gpus: 4 });
  });
  afterAll(() => cluster?.dispose());

  podTests('kubernetes', '/workspace', () => place);
});
