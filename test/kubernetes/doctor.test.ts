import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { podyard, run } from '../e2e/podyard-command.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { type ClusterPlace, placeOnCluster } from './place.ts';

describeOnCluster('podyard doctor with a cluster', () => {
  let cluster: Cluster;
  let place: ClusterPlace;
  let folder: ServerProcess;
  beforeAll(async () => {
    cluster = await Cluster.use();
    place = await placeOnCluster(cluster, { gpus: 4 });
    folder = await ServerProcess.create({ runtime: 'kubernetes', ...place });
  });
  afterAll(async () => {
    await folder?.dispose();
    await cluster?.dispose();
  });
  const args = () => ['doctor', '--runtime', 'kubernetes', '--port', '0', '--data-dir', folder.dataDir, '--json'];

  test('reports the version, complete permissions, and the nodes by data center and pool', async () => {
    const findings = JSON.parse(await run(args(), place.env)) as Finding[];
    const found = (what: string) => findings.filter((one) => one.what === what).map((one) => one.found);
    expect(found('cluster')[0]).toMatch(/^Kubernetes v1\.\d+/);
    expect(found('namespace')).toEqual([place.namespace]);
    expect(found('rights')).toEqual([`everything needed in namespace ${place.namespace}`]);
    expect(found('nodes').join()).toContain('ADA_24 4 GPUs on 1 node');
    expect(findings.some(({ what }) => what === 'engine')).toBe(false);
  });

  test('names every missing permission of an account without any', async () => {
    const name = 'nobody';
    const accounts = `/api/v1/namespaces/${place.namespace}/serviceaccounts`;
    await cluster.client.create(accounts, { metadata: { name } });
    const { status } = await cluster.client.create(`${accounts}/${name}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 600 },
    });
    const kubeconfig = join(folder.dataDir, 'kubeconfig');
    const { server } = cluster.client;
    await writeFile(
      kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'it',
        contexts: [{ name: 'it', context: { cluster: 'it', user: name } }],
        clusters: [{ name: 'it', cluster: { server, 'insecure-skip-tls-verify': true } }],
        users: [{ name, user: { token: status.token } }],
      }),
    );
    const child = podyard(args(), { ...place.env, PODYARD_KUBECONFIG: kubeconfig });
    const [code] = await new Promise<[number | null]>((resolve) => child.once('close', (status) => resolve([status])));
    expect(code).toBe(1);
    const text = child.text();
    expect(text).toContain('not allowed to get, list, watch pods; list, watch nodes; create, patch, delete pods');
    expect(text).toContain('create, get, list, patch, delete secrets');
    expect(text).not.toContain(status.token);
  });
});
