import { Cluster, describeOnCluster } from '../../../test/kubernetes/cluster.ts';
import { newId } from '../../core/ids.ts';
import { readKubernetesSettings } from '../../core/kubernetes-settings.ts';
import { silentLogger } from '../../core/logger.ts';
import { NODE_PROGRAMS, runtimeContract } from '../contract.ts';
import { buildImage } from '../docker/example-images.ts';
import { createKubernetesRuntime } from './kubernetes-runtime.ts';

describeOnCluster('with a cluster', () => {
  runtimeContract('kubernetes', async () => {
    const { image, status, note } = await buildImage({ name: 'podyard/echo-js', tag: 'dev' });
    if (status === 'skipped') throw new Error(note);
    const cluster = await Cluster.use();
    await cluster.importImages(image);
    const namespace = await cluster.namespace();
    await cluster.provideVolumes(namespace, namespace);
    const { resource, label, selector } = await cluster.equip(2, 'NVIDIA-GeForce-RTX-4090');
    const settings = readKubernetesSettings({
      PODYARD_KUBECONFIG: cluster.kubeconfig,
      PODYARD_KUBERNETES_PENDING_SECONDS: '2',
      PODYARD_KUBERNETES_NAMESPACE: namespace,
      PODYARD_KUBERNETES_STORAGE_CLASSES: `STANDARD=${namespace}`,
      PODYARD_KUBERNETES_GPU_RESOURCE: resource,
      PODYARD_KUBERNETES_GPU_LABEL: label,
      PODYARD_KUBERNETES_NODE_SELECTOR: selector,
    });
    const open = (installation: string) => createKubernetesRuntime({ settings, installation, logger: silentLogger });
    return {
      open: async (installation) => open(installation),
      image,
      programs: NODE_PROGRAMS,
      gpuPool: 'ADA_24',
      isReal: true,
      pullsAtStart: true,
      hearsOfOthersLate: true,
      makeStorage: async () => {
        const owner = { kind: 'pod', id: newId<string>() } as const;
        return open(newId()).storage.ensure(owner, { sizeGb: 1, type: 'STANDARD' });
      },
      close: () => cluster.dispose(),
    };
  });
});
