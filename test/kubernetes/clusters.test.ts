import { afterAll, beforeAll, expect } from 'vitest';
import { until } from '../e2e/api.ts';
import { clusterTests } from '../e2e/clusters.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { ClusterDns } from './cluster-dns.ts';
import { needImages } from './images.ts';
import { type ClusterPlace, placeOnCluster } from './place.ts';

describeOnCluster('clusters of pods on a cluster', () => {
  let cluster: Cluster;
  let place: ClusterPlace;
  let dns: ClusterDns | undefined;
  beforeAll(async () => {
    cluster = await Cluster.use();
    await needImages(cluster, 'podyard/echo-js:dev');
    place = await placeOnCluster(cluster, { gpus: 4 });
    if (cluster.isOwn) dns = await ClusterDns.start(cluster.hostAddress, cluster.client);
  });
  afterAll(async () => {
    await dns?.stop();
    await cluster?.dispose();
  });

  const ofGroups = async (path: string, installation: string) =>
    (await cluster.client.list(path)).filter(
      ({ metadata: { labels } }) =>
        labels?.['podyard.dev/kind'] === 'group' && labels['podyard.dev/installation'] === installation,
    );
  const servicesOf = (installation: string) => ofGroups(`/api/v1/namespaces/${place.namespace}/services`, installation);
  const policiesOf = (installation: string) =>
    ofGroups(`/apis/networking.k8s.io/v1/namespaces/${place.namespace}/networkpolicies`, installation);

  clusterTests('kubernetes', {
    place: () => place,
    whileItRuns: async ({ id }, pods, { server }) => {
      const [service] = await servicesOf(server.installation);
      expect(service).toMatchObject({ spec: { clusterIP: 'None', selector: { 'podyard.dev/group': id } } });
      expect(service!.metadata.name).not.toContain(id);
      const podSelector = { matchLabels: { 'podyard.dev/group': id } };
      expect(await policiesOf(server.installation)).toMatchObject([
        { spec: { podSelector, policyTypes: ['Ingress'], ingress: [{ from: [{ podSelector }] }] } },
      ]);
      expect(new Set(pods.map((pod) => pod.cluster.ip)).size).toBe(3);
    },
    afterIt: async (_, { server }) => {
      const left = async () => [...(await servicesOf(server.installation)), ...(await policiesOf(server.installation))];
      await until('the network is removed', async () => (await left()).length === 0);
    },
  });
});
