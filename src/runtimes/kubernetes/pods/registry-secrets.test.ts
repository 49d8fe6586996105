import { expect, test } from 'vitest';
import { silentLogger } from '../../../core/logger.ts';
import type { ApiRequest } from '../api/api-server.ts';
import type { ClusterView } from './cluster-view.ts';
import { registrySecretName } from './pod-manifest.ts';
import { RegistrySecrets } from './registry-secrets.ts';

const MINUTE = 60_000;
const registry = (id: string) => ({
  registry: { id, auth: { username: 'u', password: 'p' } },
  image: 'registry.example.com/a:1',
});

test('the Secret of a registry goes once no pod needed it for ten minutes, whatever time the cluster has', async () => {
  let now = 0;
  let pullSecrets: string[] = [];
  const secrets = new Map<string, string>();
  const json = async ({ method, path }: ApiRequest): Promise<unknown> => {
    const name = path.slice('secrets/'.length);
    if (method === 'PATCH') secrets.set(name, '2001-01-01T00:00:00Z'); // the cluster's clock is years behind
    if (method === 'DELETE') secrets.delete(name);
    return { items: [...secrets].map(([name, creationTimestamp]) => ({ metadata: { name, creationTimestamp } })) };
  };
  const cluster = {
    api: { json },
    path: (kind: string, name?: string) => (name === undefined ? kind : `${kind}/${name}`),
    pods: { all: () => [{ pullSecrets }] },
  } as unknown as ClusterView;
  const registries = new RegistrySecrets({ cluster, installation: 'i', logger: silentLogger }, { now: () => now });
  const sweepAt = async (minutes: number) => {
    now = minutes * MINUTE;
    await registries.sweep();
    return [...secrets.keys()];
  };
  const [used, unused, again] = ['used', 'unused', 'again'].map(registrySecretName);
  for (const id of ['used', 'unused', 'again']) await registries.ensure(registry(id));
  pullSecrets = [used!];
  expect(await sweepAt(1), 'a pod may be about to be created').toEqual([used, unused, again]);
  await registries.ensure(registry('again'));
  expect(await sweepAt(11)).toEqual([used, again]);
  expect(await sweepAt(20)).toEqual([used, again]);
  expect(await sweepAt(21)).toEqual([used]);
});
