import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { hasRegistryProgram, PrivateRegistry } from '../containers/private-registry.ts';
import { until } from '../e2e/api.ts';
import { describeOnCluster, describeOnOwnCluster } from './cluster.ts';
import { placeOnCluster } from './place.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

const CANARY = `canary-${crypto.randomUUID()}`;
/** A worker that returns a hash of a variable, not its value. */
const HASHER = JSON.stringify({
  entrypoint: [
    'node',
    '--input-type=module',
    '-e',
    `import { createHash } from 'node:crypto';
     import { start } from '/worker/podyard-worker.js';
     await start({ handler: () => createHash('sha256').update(process.env.TOKEN ?? '').digest('hex') });`,
  ],
});
const IMAGES = ['podyard/echo-js:dev'];

describeOnCluster('secrets on a cluster', () => {
  const life = ServerOnCluster.use({
    images: IMAGES,
    place: (cluster) => placeOnCluster(cluster, { gpus: 4 }),
    env: { PODYARD_LOG_LEVEL: 'debug' },
  });

  test('the environment of a worker is only in a Secret, which is deleted with its pod', async () => {
    const { api, server, cluster } = life;
    await api.call('POST', '/v2/account/secrets', { name: 'hub', value: CANARY, description: 'of the test' });
    const env = { TOKEN: '{{ RUNPOD_SECRET_hub }}' };
    const id = await api.createEndpoint({ args: HASHER, env, workers: { min: 1, max: 1 } });
    expect((await api.runToEnd(id, {})).output).toBe(createHash('sha256').update(CANARY).digest('hex'));
    const [worker] = await api.workers(id);
    const given = await life.environment(worker!.id);
    expect(given.TOKEN).toBe(CANARY);

    const pod = await life.pod(worker!.id);
    expect(pod.spec.containers[0]).not.toHaveProperty('env');
    expect(pod.spec.automountServiceAccountToken).toBe(false);
    expect(pod.spec.containers[0].securityContext.allowPrivilegeEscalation).toBe(false);
    const kinds = ['pods', 'events', 'services', 'configmaps'];
    const objects = await Promise.all(kinds.map((kind) => cluster.client.list(life.path(kind))));
    const everything = JSON.stringify(objects) + server.stdout + server.stderr;
    expect(everything).toContain(worker!.id);
    expect(everything).not.toContain(CANARY);
    expect(everything).not.toContain(given.RUNPOD_AI_API_KEY);

    await api.delete(id);
    await until('its Secret is gone', async () => {
      const found = await cluster.client.find(`${life.path('secrets')}/podyard-${worker!.id}`);
      return found === undefined;
    });
  });
});

interface ReleaseImages {
  images: { image: string; digest: string | null; problem: string | null }[];
}

const describeOrSkip = hasRegistryProgram() ? describeOnOwnCluster : () => test.skip('docker-registry is missing');
describeOrSkip('private images on a cluster', () => {
  let registry: PrivateRegistry;
  let image: string;
  beforeAll(async () => {
    registry = await PrivateRegistry.start();
    image = await registry.push('podyard/echo-js:dev', 'team/worker', 'v1');
    return () => registry.dispose();
  });
  const life = ServerOnCluster.use({ images: IMAGES, place: (cluster) => placeOnCluster(cluster, { gpus: 4 }) });

  test('the node pulls with the credentials of the registry record, which have their own Secret', async () => {
    const { api, cluster, server } = life;
    const host = registry.hostAt(cluster.hostAddress);
    await cluster.trustRegistry(host);
    const name = image.replace(registry.host, host);
    const body = { name: 'hub', username: registry.auth.username, password: registry.auth.password };
    const { id: hub } = await api.call<{ id: string }>('POST', '/v2/registries', body);

    const without = await api.createEndpoint({ image: name, workers: { min: 1, max: 1 } });
    await until('it is refused', async () => (await api.workers(without)).find(({ status }) => status === 'UNHEALTHY'));
    await api.delete(without);

    const id = await api.createEndpoint({ image: name, registry: hub, workers: { min: 0, max: 1 } });
    const job = await api.runToEnd(id, { echo: 'private' });
    expect(job).toMatchObject({ status: 'COMPLETED', output: 'private' });
    const pod = await life.pod(job.workerId!);
    const [secret] = pod.spec.imagePullSecrets;
    const { type, data } = await cluster.client.get(`${life.path('secrets')}/${secret.name}`);
    expect(type).toBe('kubernetes.io/dockerconfigjson');
    const config = JSON.parse(Buffer.from(data['.dockerconfigjson'], 'base64').toString());
    expect(config.auths[host]).toMatchObject(registry.auth);
    expect(JSON.stringify(pod) + server.stdout + server.stderr).not.toContain(registry.auth.password);

    // The worker may have done its job before its node has reported what runs.
    const resolved = await until('its digest is known', async () => {
      const { images } = await api.call<ReleaseImages>('GET', `/v2/serverless/${id}/release-images`);
      return images[0]!.digest === null ? undefined : images[0];
    });
    const { imageID } = (await life.pod(job.workerId!)).status.containerStatuses[0];
    expect(resolved).toMatchObject({ image: name, digest: imageID.split('@')[1], problem: null });

    await api.delete(id);
    await api.call('DELETE', `/v2/registries/${hub}`);
  });
});
