import Docker from 'dockerode';
import { beforeAll, expect } from 'vitest';
import { until } from '../e2e/api.ts';
import { clusterTests } from '../e2e/clusters.ts';
import { describeWithEngine, needExampleImages } from './container-engine.ts';

/** Says what a URL answers, once. */
const LOOK = `
const look = () => fetch(process.argv[1], { signal: AbortSignal.timeout(3000) }).then((r) => r.text()).catch(() => '');
look().then((text) => console.log('answer: ' + JSON.stringify(text))).then(() => setInterval(() => {}, 60000));
process.on('SIGTERM', () => process.exit(0));
`;

const networksOf = (installation: string) =>
  new Docker().listNetworks({ filters: { label: [`podyard.group.installation=${installation}`] } });

describeWithEngine('clusters in containers', () => {
  beforeAll(needExampleImages);
  clusterTests('docker', {
    whileItRuns: async (cluster, pods, { api, server, linesOf }) => {
      const [network] = await networksOf(server.installation);
      expect(network).toMatchObject({ Internal: true, IPAM: { Config: [{ Subnet: cluster.network!.cidr }] } });
      expect(network!.Name).not.toContain(cluster.id);

      const primary = `http://${pods[0]!.cluster.ip}:29500`;
      const outsider = await api.call<{ id: string }>('POST', '/v2/pods', {
        name: 'outsider',
        image: 'podyard/echo-js:dev',
        args: JSON.stringify({ entrypoint: ['node', '-e', LOOK, primary] }),
        gpu: { id: 'NVIDIA GeForce RTX 4090' },
      });
      const answer = await until('the outsider has looked', async () =>
        (await linesOf(outsider.id)).find((line) => line.startsWith('answer: ')),
      );
      expect(answer).not.toContain('primary');
      const ofMachine = await fetch(primary, { signal: AbortSignal.timeout(3_000) }).then(
        (response) => response.text(),
        () => '',
      );
      expect(ofMachine).not.toContain('primary');
      await api.call('DELETE', `/v2/pods/${outsider.id}`);
    },
    afterIt: (_, { server }) =>
      until('the network is removed', async () => (await networksOf(server.installation)).length === 0).then(() => {}),
  });
});
