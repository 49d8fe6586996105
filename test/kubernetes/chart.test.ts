import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeChart } from '../../release/parts/chart.ts';
import { readReleaseFacts } from '../../release/release-facts.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { Api, until } from '../e2e/api.ts';
import { EVERYTHING, MINIMUM, renderText, withValues } from '../helm/chart.ts';
import { findHelm, type HelmPrograms } from '../helm/helm-programs.ts';
import { ModelHub } from '../model-hub.ts';
import { Cluster, describeOnCluster } from './cluster.ts';
import { ClusterShell } from './cluster-shell.ts';
import { DatabaseDoor } from './database-door.ts';
import { needImages } from './images.ts';
import type { KubeObject } from './kube-client.ts';
import { makePodyardImage } from './podyard-image.ts';

const WORKER_IMAGE = 'podyard/echo-js:dev';
const LIMIT_MS = 300_000; // installs and upgrades whole releases
/** The order to delete in: Deployments after their pods. */
const UNTIL_GONE = ['--wait', '--cascade', 'foreground', '--timeout', '120s'];

describeOnCluster('the packed chart on a cluster', () => {
  const image = 'podyard/server';
  let cluster: Cluster;
  let programs: HelmPrograms;
  let folder: string;
  /** The file that a release publishes. */
  let chart: string;
  let namespace: string;
  /** The namespace of the workloads, the only other one that the release may access. */
  let elsewhere: string;
  let shell: ClusterShell;
  let database: TestDatabase;
  let door: DatabaseDoor;
  let hub: ModelHub;
  let removeImage: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    programs = await findHelm();
    folder = await mkdtemp(join(tmpdir(), 'podyard-chart-'));
    chart = join(folder, await writeChart(folder, readReleaseFacts()));
    cluster = await Cluster.use();
    namespace = await cluster.namespace();
    elsewhere = await cluster.namespace();
    shell = new ClusterShell(programs, cluster.kubeconfig, namespace);
    await needImages(cluster, WORKER_IMAGE);
    if (cluster.isOwn) {
      removeImage = await makePodyardImage(`${image}:test`);
      await cluster.importImages(`${image}:test`);
    }
    database = await createTestDatabase();
    door = await DatabaseDoor.open(database.url, cluster.hostAddress);
    hub = await ModelHub.start([], cluster.hostAddress);
    hub.models.set('org/name', { files: { 'config.json': Buffer.from('{}'), 'a.bin': Buffer.alloc(1_000_000, 1) } });
  }, LIMIT_MS);
  afterAll(async () => {
    await shell?.helm('uninstall', 'py', '--ignore-not-found', ...UNTIL_GONE).catch(() => {});
    await cluster?.dispose();
    await door?.close();
    await hub?.close();
    await database?.drop();
    await removeImage?.();
    if (folder) await rm(folder, { recursive: true });
  }, LIMIT_MS);

  const find = (path: string) => cluster.client.get(`/api/v1/namespaces/${namespace}/${path}`);
  const list = (kind: string) => cluster.client.list(`/api/v1/namespaces/${namespace}/${kind}`);
  const workloads = (): Promise<KubeObject[]> => cluster.client.list(`/api/v1/namespaces/${elsewhere}/pods`);
  const keys = async () => (await find('secrets/py-podyard-keys')).data;
  const render = (values: object) => renderText(programs, values, { namespace, kubeconfig: cluster.kubeconfig });
  const install = (values: object) =>
    withValues(values, (file) =>
      shell.helm('install', 'py', chart, '--values', file, '--wait', '--timeout', '150s').catch(async (cause) => {
        const flags = [
          '--namespace',
          namespace,
          '--all-containers',
          '--prefix',
          '--tail=20',
          '-l',
          'app.kubernetes.io/instance=py',
        ];
        const logs = await shell.kubectl(['logs', ...flags]).catch(String);
        throw new Error(
          `${cause.message}\n${await shell.kubectl(['get', 'pods', '--namespace', namespace])}\n${logs}`,
          { cause },
        );
      }),
    );
  const values = async () => ({
    image: { repository: image, tag: 'test' },
    database: { url: door.url },
    workloads: { namespace: elsewhere, simulateGpus: 'ADA_24:4' },
    server: { resources: { requests: { cpu: '50m', memory: '64Mi' } }, stopDelaySeconds: 1 },
    control: { resources: { requests: { cpu: '50m', memory: '64Mi' } } },
    config: { PODYARD_RATE_LIMIT: 'off', PODYARD_HUB_URL: hub.url },
    workerApi: { clusterIP: await addressWithoutNames(cluster) },
  });

  test('the API server accepts everything that the chart can render for its versions', async () => {
    const { serviceMonitor: _, prometheusRule: __, ...rest } = EVERYTHING; // the operator is not installed
    const workerApi = { ...rest.workerApi, clusterIP: '' };
    const everything = {
      ...rest,
      workerApi,
      workloads: { ...rest.workloads, namespace: elsewhere, createNamespace: false },
    };
    for (const each of [MINIMUM, everything]) {
      const answer = await shell.kubectl(['apply', '--dry-run=server', '-f', '-'], await render(each));
      expect(answer.match(/ created \(server dry run\)/g)!.length).toBeGreaterThan(10);
    }
  });

  test('the API server rejects an unknown field', async () => {
    const wrong = (await render(MINIMUM)).replaceAll('readinessProbe:', 'readynessProbe:');
    await expect(shell.kubectl(['apply', '--dry-run=server', '-f', '-'], wrong)).rejects.toThrow(/readynessProbe/);
  });

  test(
    'a release becomes ready, and a job inside the cluster starts a worker and gets its result',
    async () => {
      expect(await install(await values())).toContain('port-forward service/py-podyard');
      const key = Buffer.from((await keys())['admin-key'], 'base64').toString();
      await shell.withPort('py-podyard', 80, async (url) => {
        const api = new Api({ url, key });
        const endpointId = await api.createEndpoint({ workers: { min: 0, max: 1 } });
        const job = await api.runToEnd(endpointId, { echo: 'charted' });
        expect(job).toMatchObject({ status: 'COMPLETED', output: 'charted' });
        expect((await workloads()).map(({ metadata }) => metadata.labels['podyard.dev/id'])).toEqual([job.workerId]);
        await api.delete(endpointId);
        await until('its worker is gone', async () => (await workloads()).length === 0, 120_000);
      });
    },
    LIMIT_MS,
  );

  test(
    'a node gets the models of a worker from the control process that leads',
    async () => {
      const key = Buffer.from((await keys())['admin-key'], 'base64').toString();
      await shell.withPort('py-podyard', 80, async (url) => {
        const api = new Api({ url, key });
        const endpointId = await api.createEndpoint({ workers: { min: 0, max: 1 } });
        await api.call('PUT', `/v2/serverless/${endpointId}/models`, { models: [{ source: 'hf:org/name' }] });
        const job = await api.runToEnd(endpointId, { echo: 'modelled' }, undefined, 120_000);
        expect(job).toMatchObject({ status: 'COMPLETED', output: 'modelled' });
        const [pod] = await workloads();
        expect(pod!.status.initContainerStatuses[0].state.terminated).toMatchObject({ exitCode: 0 });
        expect(hub.sentBytes).toBe(1_000_002);
        await api.delete(endpointId);
        await until('its worker is gone', async () => (await workloads()).length === 0, 120_000);
      });
    },
    LIMIT_MS,
  );

  test('no request of a process was forbidden to its service account', async () => {
    for (const { metadata } of await list('pods')) {
      expect(await shell.kubectl(['logs', metadata.name, '--namespace', namespace])).not.toMatch(/forbidden/i);
    }
  });

  test(
    'keys survive an upgrade and an uninstall, which leaves nothing else behind',
    async () => {
      const before = await keys();
      await shell.helm('upgrade', 'py', chart, '--reuse-values', '--set', 'config.PODYARD_LOG_LEVEL=debug', '--wait');
      expect(await keys()).toEqual(before);
      await shell.helm('uninstall', 'py', ...UNTIL_GONE);
      expect(await leftBehind()).toEqual(['secrets/py-podyard-keys']);
      const asleep = { ...(await values()), server: { replicas: 0 }, control: { replicas: 0 } };
      await withValues(asleep, (file) => shell.helm('install', 'py', chart, '--values', file));
      expect(await keys()).toEqual(before);
    },
    LIMIT_MS,
  );

  /** Returns the names of objects that the release or its workloads left. */
  async function leftBehind(): Promise<string[]> {
    const kinds = ['pods', 'secrets', 'services', 'configmaps', 'serviceaccounts', 'persistentvolumeclaims'];
    const inNamespace = await Promise.all(
      kinds.map(async (kind) => (await list(kind)).map(({ metadata }) => `${kind}/${metadata.name}`)),
    );
    const roles = await cluster.client.list('/apis/rbac.authorization.k8s.io/v1/clusterroles');
    const clusterWide = roles.map(({ metadata }) => metadata.name).filter((name) => name.includes(namespace));
    const isClusters = (name: string) =>
      /kube-root-ca|openshift-service-ca|\/default/.test(name) || /-token-/.test(name);
    return [...inNamespace.flat(), ...clusterWide].filter((name) => !isClusters(name));
  }
});

/** Returns a free address for the worker API on a cluster without DNS; an empty one with DNS. */
async function addressWithoutNames(cluster: Cluster): Promise<string> {
  if (await cluster.client.find('/api/v1/namespaces/kube-system/services/kube-dns')) return '';
  const { spec } = await cluster.client.get('/api/v1/namespaces/default/services/kubernetes');
  const taken = new Set((await cluster.client.list('/api/v1/services')).map((service) => service.spec.clusterIP));
  // From the lowest sixteen, the cluster gives none to services that ask for no certain one.
  const addresses = Array.from({ length: 13 }, (_, i) => spec.clusterIP.replace(/\d+$/, String(3 + i)));
  const free = addresses.filter((address) => !taken.has(address));
  return free[Math.floor(Math.random() * free.length)]!;
}
