import { afterAll, beforeAll } from 'vitest';
import { adoptionTests } from '../e2e/adoption.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { needImages } from './images.ts';
import { type ClusterPlace, placeOnCluster } from './place.ts';

describeOnCluster('a server that restarts with pods on a cluster', () => {
  let cluster: Cluster;
  let place: ClusterPlace;
  beforeAll(async () => {
    cluster = await Cluster.use();
    await needImages(cluster, 'podyard/echo-js:dev');
    place = await placeOnCluster(cluster, { gpus: 8 });
  });
  afterAll(() => cluster?.dispose());

  adoptionTests('kubernetes', () => place);
});
