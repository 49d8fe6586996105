import { afterAll, beforeAll, expect, test } from 'vitest';
import { hasRegistryProgram, PrivateRegistry } from '../../../../test/containers/private-registry.ts';
import { uploadRandomImage } from '../../../../test/containers/random-image.ts';
import { Cluster, describeOnOwnCluster } from '../../../../test/kubernetes/cluster.ts';
import { workloadSpec } from '../../../../test/workload-spec.ts';
import { readKubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { newId } from '../../../core/ids.ts';
import { silentLogger } from '../../../core/logger.ts';
import type { AheadImage, Runtime } from '../../runtime.ts';
import { createKubernetesRuntime } from '../kubernetes-runtime.ts';

const POOL = 'AMPERE_80';

const describeOrSkip = hasRegistryProgram() ? describeOnOwnCluster : () => test.skip('docker-registry is missing');
describeOrSkip('images ahead on a real cluster', () => {
  let cluster: Cluster;
  let registry: PrivateRegistry;
  let namespace: string;
  let runtime: Runtime;
  let wanted: AheadImage;
  const never = new AbortController().signal;

  beforeAll(async () => {
    cluster = await Cluster.use();
    namespace = await cluster.namespace();
    registry = await PrivateRegistry.start();
    const tag = newId<string>().toLowerCase();
    await uploadRandomImage(registry, 'team/ahead', { tag, layers: 2, bytes: 2 ** 20 });
    const host = registry.hostAt(cluster.hostAddress);
    await cluster.trustRegistry(host);
    const { resource, label, selector } = await cluster.equip(1, 'NVIDIA-A100-SXM4-80GB');
    const settings = readKubernetesSettings({
      PODYARD_KUBECONFIG: cluster.kubeconfig,
      PODYARD_KUBERNETES_NAMESPACE: namespace,
      PODYARD_KUBERNETES_GPU_RESOURCE: resource,
      PODYARD_KUBERNETES_GPU_LABEL: label,
      PODYARD_KUBERNETES_NODE_SELECTOR: selector,
    });
    runtime = createKubernetesRuntime({ settings, installation: newId<string>(), logger: silentLogger });
    wanted = {
      image: `${host}/team/ahead:${tag}`,
      registry: { id: newId<string>(), auth: registry.auth },
      gpuPools: [POOL],
      dataCenterIds: [],
    };
  }, 300_000);
  afterAll(async () => {
    await runtime?.close();
    await cluster?.dispose();
    await registry?.dispose();
  });

  const podsLeft = () => cluster.client.list(`/api/v1/namespaces/${namespace}/pods`);

  test('an image that may not be pulled is told, and leaves no pod behind', async () => {
    const refused = { ...wanted, image: wanted.image.replace('/ahead:', '/missing:') };
    await expect(runtime.pullAhead!(refused, never)).rejects.toThrow(/^(ErrImagePull|ImagePullBackOff): /);
    expect(await podsLeft()).toEqual([]);
  });

  test('a node gets an image ahead, once, and a worker that comes later waits for no pull', async () => {
    expect(await runtime.pullAhead!({ ...wanted, gpuPools: ['ADA_24'] }, never)).toBe(false); // it has no such GPUs
    expect(await runtime.pullAhead!(wanted, never)).toBe(true);
    expect(await podsLeft()).toEqual([]);
    expect(await runtime.list()).toEqual([]);
    expect(await runtime.pullAhead!(wanted, never)).toBe(false);
    await registry.pause();
    const lines: string[] = [];
    const spec = workloadSpec({ image: wanted.image, registry: wanted.registry, args: '/none' });
    await runtime.start(spec, { onProgress: (line) => lines.push(line) }).catch(() => {}); // it has no program
    expect(lines.join('\n')).toContain(`Container image ${wanted.image} already present`);
  });
});
