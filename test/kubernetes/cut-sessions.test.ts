import { afterAll, beforeAll } from 'vitest';
import { cutSessionTests } from '../e2e/cut-sessions.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { needImages } from './images.ts';
import { type ClusterPlace, placeOnCluster } from './place.ts';

describeOnCluster('sessions in a cluster that are cut off', () => {
  let cluster: Cluster;
  let place: ClusterPlace;
  beforeAll(async () => {
    cluster = await Cluster.use();
    await needImages(cluster, 'podyard/echo-js:dev');
    place = await placeOnCluster(cluster, { gpus: 4 });
  });
  afterAll(() => cluster?.dispose());

  cutSessionTests('kubernetes', () => place);
});
