import { CuttableProxy } from '../../../test/cuttable-proxy.ts';
import { freePort } from '../../../test/free-port.ts';
import { Cluster, describeOnCluster } from '../../../test/kubernetes/cluster.ts';
import { needImages } from '../../../test/kubernetes/images.ts';
import { runtimeContract } from '../../../test/runtime-contract/contract.ts';
import { NODE_PROGRAMS } from '../../../test/runtime-contract/probes.ts';
import { readKubernetesSettings } from '../../config/kubernetes-settings.ts';
import { newId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { accessOf, type ClusterAccess } from './api/cluster-access.ts';
import { createKubernetesRuntime } from './kubernetes-runtime.ts';

const IMAGE = 'podyard/echo-js:dev';

describeOnCluster('with a cluster', () => {
  runtimeContract('kubernetes', async () => {
    const cluster = await Cluster.use();
    await needImages(cluster, IMAGE);
    const namespace = await cluster.namespace();
    await cluster.provideVolumes(namespace, namespace);
    const { resource, label, selector } = await cluster.equip(2, 'NVIDIA-GeForce-RTX-4090');
    const settings = readKubernetesSettings({
      PODYARD_KUBECONFIG: cluster.kubeconfig,
      PODYARD_KUBERNETES_PENDING_SECONDS: '5',
      PODYARD_KUBERNETES_NAMESPACE: namespace,
      PODYARD_KUBERNETES_STORAGE_CLASSES: `STANDARD=${namespace}`,
      PODYARD_KUBERNETES_GPU_RESOURCE: resource,
      PODYARD_KUBERNETES_GPU_LABEL: label,
      PODYARD_KUBERNETES_NODE_SELECTOR: selector,
    });
    const open = (installation: string, more: { access?: () => Promise<ClusterAccess> } = {}) =>
      createKubernetesRuntime({ settings, installation, logger: silentLogger, ...more });
    const real = await accessOf(settings);
    const at = { host: '127.0.0.1', port: await freePort() };
    const proxy = new CuttableProxy(at, () => ({ host: real.server.hostname, port: Number(real.server.port || 443) }));
    const server = new URL(`${real.server.protocol}//${at.host}:${at.port}${real.server.pathname}`);
    const isOwn = process.env.PODYARD_TEST_KUBECONFIG === undefined; // its certificate has 127.0.0.1
    return {
      open: async (installation) => open(installation),
      ...(isOwn && {
        openCuttable: async (installation: string) => {
          await proxy.connect();
          const runtime = open(installation, { access: async () => ({ ...(await accessOf(settings)), server }) });
          return { runtime, cut: () => proxy.cut(), restore: () => proxy.connect() };
        },
      }),
      image: IMAGE,
      programs: NODE_PROGRAMS,
      gpuPool: 'ADA_24',
      isReal: true,
      pullsAtStart: true,
      endsNoInput: isOwn, // our own cluster is older than 1.30
      seesOthersLate: true,
      makeStorage: async () => {
        const owner = { kind: 'pod', id: newId<string>() } as const;
        return open(newId()).storage.ensure(owner, { sizeGb: 1, type: 'STANDARD' });
      },
      close: async () => {
        if (isOwn) await proxy.cut();
        real.close();
        await cluster.dispose();
      },
    };
  });
});
