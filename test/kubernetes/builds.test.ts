import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { DOCKERFILE } from '../builder-contract/dockerfile-projects.ts';
import { hasRegistryProgram, PrivateRegistry } from '../containers/private-registry.ts';
import { ApiError, until } from '../e2e/api.ts';
import { run } from '../e2e/podyard-command.ts';
import { hasEngine } from '../engine.ts';
import { describeOnOwnCluster } from './cluster.ts';
import { placeOnCluster } from './place.ts';
import { ServerOnCluster } from './server-on-cluster.ts';

/** This machine's engine builds, Debian's registry keeps, and the node pulls with the server's password. */
const isThere = hasEngine && hasRegistryProgram();
const describeOrSkip = isThere ? describeOnOwnCluster : () => test.skip('an engine or docker-registry is missing');

interface Build {
  id: string;
  status: string;
  image: string;
  digest: string;
  reason: string | null;
}

describeOrSkip('builds on a cluster', () => {
  let registry: PrivateRegistry;
  let env: Record<string, string>;
  beforeAll(async () => {
    registry = await PrivateRegistry.start();
    const file = join(registry.folder, 'config.json');
    await writeFile(file, JSON.stringify({ auths: { [registry.host]: registry.auth } }));
    env = {
      PODYARD_BUILD_ENGINE: 'unix:///var/run/docker.sock',
      PODYARD_BUILD_REGISTRY: `${registry.host}/team/builds`,
      PODYARD_BUILD_REGISTRY_AUTH: file,
    };
    return () => registry.dispose();
  });
  const life = ServerOnCluster.use({
    images: ['podyard/echo-js:dev'],
    place: async (cluster) => {
      await cluster.trustRegistry(registry.host, registry.hostAt(cluster.hostAddress));
      const place = await placeOnCluster(cluster, { gpus: 4 });
      return { ...place, env: { ...place.env, ...env } };
    },
  });

  async function build(greeting: string): Promise<Build> {
    const { api, server } = life;
    const files = {
      Dockerfile: 'FROM podyard/echo-js:dev\nCOPY greeting.txt /greeting.txt\n',
      'greeting.txt': greeting,
    };
    const entries = [];
    for (const [path, content] of Object.entries(files)) {
      const digest = createHash('sha256').update(content).digest('hex');
      const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/octet-stream' };
      const url = `${server.url}/v2/builds/files/${digest}`;
      const response = await fetch(url, { method: 'PUT', headers, body: content });
      if (response.status !== 204) throw new ApiError(response.status, await response.text());
      entries.push({ path, digest, size: content.length, mode: 0o644 });
    }
    const { id } = await api.call<Build>('POST', '/v2/builds', { name: 'app', files: entries, recipe: DOCKERFILE });
    return until(`build ${id} ends`, async () => {
      const now = await api.call<Build>('GET', `/v2/builds/${id}`);
      return ['COMPLETED', 'FAILED', 'CANCELLED'].includes(now.status) && now;
    });
  }
  const READS = JSON.stringify({
    entrypoint: [
      'node',
      '--input-type=module',
      '-e',
      `import { readFileSync } from 'node:fs';
       import { start } from '/worker/podyard-worker.js';
       await start({ handler: () => readFileSync('/greeting.txt', 'utf8') });`,
    ],
  });

  test('a folder is built, pushed and served, a change is another release, and a roll-back the former code', async () => {
    const { api } = life;
    const first = await build('one');
    expect(first).toMatchObject({ status: 'COMPLETED', reason: null });
    expect(first.image).toBe(`builds.podyard.internal/app:${first.id}`);
    const id = await api.createEndpoint({ image: first.image, args: READS, workers: { min: 0, max: 1 } });
    const job = await api.runToEnd(id, {});
    expect(job.output).toBe('one');
    const pod = await life.pod(job.workerId!);
    expect(pod.spec.containers[0].image).toMatch(`${registry.host}/team/builds`);
    expect(pod.spec.imagePullSecrets).toHaveLength(1);
    const { images } = await until('its digest is known', async () => {
      const found = await api.call<{ images: { digest: string | null }[] }>(
        'GET',
        `/v2/serverless/${id}/release-images`,
      );
      return found.images[0]!.digest === null ? undefined : found;
    });
    expect(images[0]).toMatchObject({ digest: first.digest });

    const second = await build('two');
    await api.call('PATCH', `/v2/serverless/${id}`, { image: second.image });
    await until('the new code answers', async () => (await api.runToEnd(id, {})).output === 'two');
    const { releases } = await api.call<{ releases: { id: string }[] }>('GET', `/v2/serverless/${id}/releases`);
    await api.call('POST', `/v2/serverless/${id}/releases/${releases.at(-1)!.id}/rollback`);
    await until('the former code answers', async () => (await api.runToEnd(id, {})).output === 'one');
    await api.delete(id);
  });

  test('what the registry has for builds is nobody’s by another name', async () => {
    const image = `${registry.host}/team/builds:anything`;
    await expect(life.api.createEndpoint({ image })).rejects.toThrow('those of builds');
  });

  test('podyard doctor tries the engine and the registry, and names what is wrong', async () => {
    const args = ['doctor', '--runtime', 'kubernetes', '--port', '0', '--data-dir', life.server.dataDir, '--json'];
    const builds = async (more: Record<string, string>) => {
      const text = await run(args, { ...life.place.env, ...env, ...more });
      return (JSON.parse(text) as { what: string; found: string }[]).find(({ what }) => what === 'builds')!.found;
    };
    expect(await builds({})).toBe(`an engine builds, and ${registry.host}/team/builds answers`);
    expect(await builds({ PODYARD_BUILD_REGISTRY_AUTH: '' })).toContain('PODYARD_BUILD_REGISTRY_AUTH');
    expect(await builds({ PODYARD_BUILD_ENGINE: '' })).toBe('none: images come from registries alone');
    expect(await builds({ PODYARD_BUILD_ENGINE: 'unix:///nowhere.sock' })).toMatch(
      /cannot be reached.*\/nowhere\.sock/,
    );
  });
});
