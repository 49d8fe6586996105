/** A server that is killed while a build of it is pushed: this machine's engine builds, and Debian's registry keeps. The cluster is a stand-in without nodes. */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readKubernetesSettings } from '../../src/config/kubernetes-settings.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { Engine } from '../../src/engine/engine.ts';
import { openAccess } from '../../src/runtimes/kubernetes/api/cluster-access.ts';
import { createKubernetesRuntime } from '../../src/runtimes/kubernetes/kubernetes-runtime.ts';
import { BASE, DOCKERFILE, makeBase } from '../builder-contract/dockerfile-projects.ts';
import { hasRegistryProgram, PrivateRegistry } from '../containers/private-registry.ts';
import { RegistryDoor } from '../containers/registry-door.ts';
import { Api, until } from '../e2e/api.ts';
import { ServerProcess } from '../e2e/server-process.ts';
import { hasEngine } from '../engine.ts';
import { FakeApiServer, openWatch, send, sendList } from '../fake-api-server.ts';

interface Build {
  id: string;
  status: string;
  reason: string | null;
  image: string | null;
}

/** A cluster that takes everything, and has nothing. */
async function startCluster(): Promise<FakeApiServer> {
  const cluster = await FakeApiServer.start((url, response, method) => {
    if (url.searchParams.get('watch') === 'true') openWatch(response);
    else if (url.pathname === '/version') send(response, { major: '1', minor: '34', gitVersion: 'v1.34.0' });
    else if (method === 'GET') sendList(response, [], '1');
    else send(response, {}, 201);
  });
  onTestFinished(() => cluster.close());
  return cluster;
}

async function startRegistry(): Promise<{ door: RegistryDoor; host: string }> {
  const registry = await PrivateRegistry.start();
  onTestFinished(() => registry.dispose());
  const door = new RegistryDoor(registry);
  onTestFinished(() => door.close());
  return { door, host: await door.open() };
}

async function startServer(cluster: FakeApiServer, host: string): Promise<ServerProcess> {
  const address = `http://127.0.0.1:${cluster.port}`;
  const folder = await mkdtemp(join(tmpdir(), 'podyard-kubeconfig-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const kubeconfig = {
    'current-context': 'fake',
    contexts: [{ name: 'fake', context: { cluster: 'fake', user: 'fake' } }],
    clusters: [{ name: 'fake', cluster: { server: address, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'fake', user: {} }],
  };
  await writeFile(join(folder, 'config'), JSON.stringify(kubeconfig)); // JSON is YAML, too
  const namespace = { PODYARD_KUBERNETES_NAMESPACE: 'podyard' };
  const server = await ServerProcess.start({
    runtime: 'kubernetes',
    openRuntime: (installation) =>
      createKubernetesRuntime({
        settings: readKubernetesSettings(namespace),
        installation,
        logger: silentLogger,
        access: async () => openAccess(address),
      }),
    env: {
      ...namespace,
      PODYARD_KUBECONFIG: join(folder, 'config'),
      PODYARD_BUILD_ENGINE: 'unix:///var/run/docker.sock',
      PODYARD_BUILD_REGISTRY: `${host}/team/builds`,
    },
  });
  onTestFinished(() => server.dispose(), 60_000);
  return server;
}

async function startBuild({ url, key }: ServerProcess, note: string): Promise<string> {
  const api = new Api({ url, key });
  const files = { Dockerfile: `FROM ${BASE}\nCOPY note /note\n`, note };
  const entries = [];
  for (const [path, content] of Object.entries(files)) {
    const digest = createHash('sha256').update(content).digest('hex');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/octet-stream' };
    const answer = await fetch(`${url}/v2/builds/files/${digest}`, { method: 'PUT', headers, body: content });
    expect(answer.status).toBe(204);
    entries.push({ path, digest, size: content.length, mode: 0o644 });
  }
  return (await api.call<Build>('POST', '/v2/builds', { name: 'app', files: entries, recipe: DOCKERFILE })).id;
}

/** Names that the engine has of these builds, or of the registry. */
async function namesInEngine(ids: readonly string[], host: string): Promise<string[]> {
  const names = (await new Docker().listImages()).flatMap(({ RepoTags }) => RepoTags ?? []);
  return names.filter((name) => name.startsWith(host) || ids.some((id) => name.endsWith(id.toLowerCase())));
}

describe.skipIf(!hasEngine || !hasRegistryProgram())('with an engine and a registry', () => {
  test.each([
    ['before the registry takes anything', /^POST .*\/blobs\/uploads\//],
    ['when only the manifest is missing', /^PUT .*\/manifests\//],
  ])(
    'kill -9 %s: the build goes on or says why not, nothing stays, and the next one is pushed',
    async (_, held) => {
      const engine = new Engine(undefined);
      await makeBase(engine);
      await engine.close();
      const { door, host } = await startRegistry();
      const server = await startServer(await startCluster(), host);
      const api = new Api(server);
      const read = (id: string) => api.call<Build>('GET', `/v2/builds/${id}`);
      const ended = (id: string) =>
        until(
          `build ${id} has ended`,
          async () => {
            const build = await read(id);
            return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(build.status) && build;
          },
          60_000,
        );

      const arrived = Promise.withResolvers<void>();
      const killed = Promise.withResolvers<void>();
      door.admit = (asked) => {
        if (!held.test(asked)) return undefined;
        arrived.resolve();
        return killed.promise;
      };
      const id = await startBuild(server, `note ${held}`);
      await arrived.promise;
      await until('its record says so', async () => (await read(id)).status === 'PUSHING');
      await server.kill();
      killed.resolve();
      await server.start();
      const first = await ended(id);
      if (first.status !== 'COMPLETED')
        expect(first).toMatchObject({ status: 'FAILED', image: null, reason: expect.stringMatching(/server/) });

      const next = await ended(await startBuild(server, 'another note'));
      expect(next).toMatchObject({ status: 'COMPLETED', reason: null });
      await until(
        'the engine has no name of them',
        async () => (await namesInEngine([id, next.id], host)).length === 0,
      );
    },
    240_000,
  );
});
