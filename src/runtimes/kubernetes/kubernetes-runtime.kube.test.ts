import { Cluster, describeOnCluster } from '../../../test/kubernetes/cluster.ts';
import { needImages } from '../../../test/kubernetes/images.ts';
import { readKubernetesSettings } from '../../config/kubernetes-settings.ts';
import { newId } from '../../core/ids.ts';
import { silentLogger } from '../../core/logger.ts';
import { runtimeContract } from '../contract.ts';
import { NODE_PROGRAMS } from '../contract-programs.ts';
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
    const open = (installation: string) => createKubernetesRuntime({ settings, installation, logger: silentLogger });
    return {
      open: async (installation) => open(installation),
      image: IMAGE,
      programs: NODE_PROGRAMS,
      gpuPool: 'ADA_24',
      isReal: true,
      pullsAtStart: true,
      endsNoInput: process.env.PODYARD_TEST_KUBECONFIG === undefined, // our own cluster is older than 1.30
      seesOthersLate: true,
      makeStorage: async () => {
        const owner = { kind: 'pod', id: newId<string>() } as const;
        return open(newId()).storage.ensure(owner, { sizeGb: 1, type: 'STANDARD' });
      },
      close: () => cluster.dispose(),
    };
  });
});
