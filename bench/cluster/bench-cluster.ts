import { execFileSync } from 'node:child_process';
import { newId } from '../../src/core/ids.ts';
import { FakeKubelet } from '../../test/kubernetes/fake-kubelet.ts';
import { fakeNode } from '../../test/kubernetes/fake-node.ts';
import { KubeClient } from '../../test/kubernetes/kube-client.ts';
import { addressTowards, importImage, kubeUp } from '../../test/kubernetes/own-cluster.ts';

const KUBE_DOWN = new URL('../../test/kubernetes/kube-down.sh', import.meta.url).pathname;
/** Nothing listens there. */
const UNUSED_PORT = 9;
/** Concurrent requests for setup and cleanup. */
const CONCURRENT = 20;

/** The tests' cluster, with its own namespace. `close` deletes everything created through it. */
export class BenchCluster {
  readonly kubeconfig: string;
  readonly client: KubeClient;
  readonly namespace: string;
  /** The address of this machine, as pods reach it. */
  readonly hostAddress: string;
  readonly #nodes: string[] = [];
  #kubelet: FakeKubelet | undefined;

  static async open(): Promise<BenchCluster> {
    const kubeconfig = await kubeUp(process.pid);
    const client = await KubeClient.open(kubeconfig);
    const namespace = `bench-${newId(8).toLowerCase()}`;
    await client.create('/api/v1/namespaces', { metadata: { name: namespace } });
    const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`;
    while (!(await client.find(account))) await new Promise((resolve) => setTimeout(resolve, 100));
    return new BenchCluster({ kubeconfig, client, namespace, hostAddress: await addressTowards(client.server) });
  }

  private constructor(parts: Pick<BenchCluster, 'kubeconfig' | 'client' | 'namespace' | 'hostAddress'>) {
    this.kubeconfig = parts.kubeconfig;
    this.client = parts.client;
    this.namespace = parts.namespace;
    this.hostAddress = parts.hostAddress;
  }

  importImage(name: string): Promise<void> {
    return importImage(process.pid, name);
  }

  path(resource: string, name?: string): string {
    return `/api/v1/namespaces/${this.namespace}/${resource}${name === undefined ? '' : `/${name}`}`;
  }

  /** The settings of a server that uses the cluster. */
  get env(): Record<string, string> {
    return { PODYARD_KUBECONFIG: this.kubeconfig, PODYARD_KUBERNETES_NAMESPACE: this.namespace };
  }

  /** Creates fake nodes for our pods only, which seem to run there. Returns the settings of a server that uses them. */
  async addNodes(count: number, gpus: number): Promise<Record<string, string>> {
    const names = Array.from({ length: count }, (_, i) => `${this.namespace}-${i}`);
    const labels = { 'bench-of': this.namespace, 'bench-product': 'NVIDIA-GeForce-RTX-4090' };
    const node = {
      gpus,
      kubeletPort: UNUSED_PORT,
      labels,
      taints: [{ key: 'bench-of', value: this.namespace, effect: 'NoSchedule' as const }],
    };
    this.#nodes.push(...names);
    const isFake = new Set(this.#nodes);
    this.#kubelet ??= await FakeKubelet.start({ kubeconfig: this.kubeconfig, isFake: (name) => isFake.has(name) });
    await forEach(names, async (name) => {
      await this.client.create('/api/v1/nodes', fakeNode(name, node));
    });
    return {
      PODYARD_KUBERNETES_NODE_SELECTOR: `bench-of=${this.namespace}`,
      PODYARD_KUBERNETES_GPU_LABEL: 'bench-product',
      PODYARD_KUBERNETES_TOLERATIONS: `bench-of=${this.namespace}:NoSchedule`,
    };
  }

  async close(): Promise<void> {
    await this.removePods();
    await this.client.delete(`/api/v1/namespaces/${this.namespace}`);
    await this.#kubelet?.stop();
    await forEach(this.#nodes, (name) => this.client.delete(`/api/v1/nodes/${name}`));
    this.client.close();
    execFileSync(KUBE_DOWN, ['--leave', String(process.pid)]);
  }

  /** Resolves when no pod is left. */
  async removePods(): Promise<void> {
    await this.client.delete(this.path('secrets'));
    for (;;) {
      const pods = await this.client.list(this.path('pods'));
      if (pods.length === 0) return;
      const isOurs = (node: string) => this.#nodes.includes(node);
      await forEach(pods, ({ metadata, spec }) => {
        const gracePeriodSeconds = !spec.nodeName || isOurs(spec.nodeName) ? 0 : 1;
        return this.client.delete(this.path('pods', metadata.name), { gracePeriodSeconds });
      });
      await new Promise((resolve) => setTimeout(resolve, 300));
    }
  }
}

async function forEach<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const work = async () => {
    for (const item of rest) await act(item);
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
}
