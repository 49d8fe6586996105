import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { FakeKubelet } from './fake-kubelet.ts';
import { type FakeNode, fakeNode, readyCondition } from './fake-node.ts';
import { KubeClient } from './kube-client.ts';
import {
  addRealNode,
  addressTowards,
  findProgram,
  importImage,
  kubeDown,
  kubeUp,
  lacking,
  SECOND_NODE,
  STATE,
} from './own-cluster.ts';
import { VolumeMaker } from './volume-maker.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The process that uses the cluster in this run. */
    clusterUser: number;
  }
}

const NAMED = process.env.PODYARD_TEST_KUBECONFIG;
const GONE_TIMEOUT_MS = 90_000;

/** Why there is no cluster; undefined when there is one, or one can be started. */
const noCluster = NAMED === 'none' ? 'PODYARD_TEST_KUBECONFIG says that there is none' : NAMED ? undefined : lacking();
/** Our own cluster on this machine, with fake nodes and an API server that can be paused. */
const isOwn = !NAMED;

/**
 * Describes tests on a Kubernetes cluster: PODYARD_TEST_KUBECONFIG, else our own. Without a cluster they are skipped, or fail with
 * CI=true unless PODYARD_TEST_KUBECONFIG is `none`.
 */
export function describeOnCluster(name: string, body: () => void): void {
  if (noCluster && process.env.CI === 'true' && NAMED !== 'none') {
    test(`${name}: there is a cluster`, () =>
      expect.fail(`${noCluster}; PODYARD_TEST_KUBECONFIG can name another cluster, or be \`none\``));
  }
  describe.skipIf(noCluster)(noCluster ? `${name} (${noCluster})` : name, body);
}

/** Describes tests that need fake nodes or pause the API server, which only our own cluster allows. */
export function describeOnOwnCluster(name: string, body: () => void): void {
  if (isOwn) describeOnCluster(name, body);
  else describe.skip(`${name} (not on a cluster that PODYARD_TEST_KUBECONFIG names)`, body);
}

/** The cluster of the tests. `dispose` deletes everything created through it. */
export class Cluster {
  readonly kubeconfig: string;
  readonly client: KubeClient;
  /** The address of this machine for pods. */
  readonly hostAddress: string;
  readonly #namespaces: string[] = [];
  readonly #nodes: string[] = [];
  readonly #makers: VolumeMaker[] = [];
  readonly #undo: (() => Promise<void>)[] = [];
  #kubelet: FakeKubelet | undefined;

  /** Starts our own cluster unless it runs; concurrent calls wait for it. */
  static async use(): Promise<Cluster> {
    const kubeconfig = NAMED ?? (await kubeUp(inject('clusterUser')));
    const client = await KubeClient.open(kubeconfig);
    return new Cluster(kubeconfig, client, await addressTowards(client.server));
  }

  private constructor(kubeconfig: string, client: KubeClient, hostAddress: string) {
    this.kubeconfig = kubeconfig;
    this.client = client;
    this.hostAddress = hostAddress;
  }

  /** Creates a namespace, ready for pods. */
  async namespace(): Promise<string> {
    const name = `e2e-${newId(8).toLowerCase()}`;
    await this.client.create('/api/v1/namespaces', { metadata: { name } });
    this.#namespaces.push(name);
    const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await eventually(`namespace ${name} has its account`, () => this.client.find(account));
    return name;
  }

  readonly isOwn = isOwn;

  /** Imports images of the container engine into our own cluster. */
  async importImages(...names: string[]): Promise<void> {
    for (const name of names) await importImage(inject('clusterUser'), name);
  }

  /** Creates a fake node, whose name begins with `e2e-`. With `playKubelet`, pods seem to run on it. */
  async addNode(node: FakeNode = {}): Promise<string> {
    const name = `e2e-${newId(8).toLowerCase()}`;
    await this.client.create('/api/v1/nodes', fakeNode(name, node));
    this.#nodes.push(name);
    return name;
  }

  /** Adds a second real node to our own cluster, with these images of the container engine. Returns the folder that is its /srv. */
  async addRealNode(...images: string[]): Promise<string> {
    this.#undo.push(async () => {
      await kubeDown('--remove-node');
      await this.removeNode(SECOND_NODE);
    });
    return addRealNode(images);
  }

  /** From now on pods on the nodes of `addNode` seem to run. */
  async playKubelet(): Promise<FakeKubelet> {
    const isFake = (node: string) => this.#nodes.includes(node);
    this.#kubelet ??= await FakeKubelet.start({ kubeconfig: this.kubeconfig, isFake });
    return this.#kubelet;
  }

  /** Deletes the node object, as when its machine is removed. */
  removeNode(name: string): Promise<void> {
    return this.client.delete(`/api/v1/nodes/${name}`);
  }

  /** Sets the Ready condition that the kubelet of a node reports; `Unknown` when it is silent. */
  async setReady(node: string, status: 'True' | 'False' | 'Unknown'): Promise<void> {
    await this.client.patch(`/api/v1/nodes/${node}/status`, { status: { conditions: [readyCondition(status)] } });
  }

  /** Provides claims of this class in this namespace with a directory on the real node, until they are deleted. */
  async provideVolumes(namespace: string, storageClass: string): Promise<void> {
    this.#makers.push(await VolumeMaker.start({ kubeconfig: this.kubeconfig, namespace, storageClass }));
  }

  /**
   * Gives each real node fake GPUs under a resource name of their own: pods that request them really run, and other tests do not see
   * them. Returns the resource, the label with the GPU product, and the selector of the node.
   */
  async equip(gpus: number, product: string): Promise<{ resource: string; label: string; selector: string }> {
    const domain = `e2e-${newId(8).toLowerCase()}.test`;
    const [resource, label, mark] = [`${domain}/gpu`, `${domain}/product`, `${domain}/is-for`];
    const nodes = await this.client.list('/api/v1/nodes');
    const real = nodes.filter(({ metadata, spec }) => metadata.labels.fake !== 'true' && !spec.taints?.length);
    for (const { metadata } of real) {
      const node = `/api/v1/nodes/${metadata.name}`;
      await this.client.patch(node, { metadata: { labels: { [label]: product, [mark]: 'tests' } } });
      await this.client.patch(`${node}/status`, { status: { capacity: { [resource]: String(gpus) } } });
      this.#undo.push(async () => {
        await this.client.patch(node, { metadata: { labels: { [label]: null, [mark]: null } } });
        await this.client.patch(`${node}/status`, { status: { capacity: { [resource]: null } } });
      });
      await eventually('the node offers its GPUs', async () => {
        const { status } = await this.client.get(node);
        return status.allocatable[resource] === String(gpus) || undefined;
      });
    }
    return { resource, label, selector: `${mark}=tests` };
  }

  /** Lets our own cluster pull from a registry, `host:port`, over plain HTTP. `at`: where nodes reach it, if not by its name. */
  async trustRegistry(host: string, at = host): Promise<void> {
    const folder = join(STATE, 'registries', host);
    await mkdir(folder, { recursive: true });
    // Without a section for the host containerd uses TLS.
    const lines = [`server = "http://${at}"`, `[host."http://${at}"]`, 'capabilities = ["pull", "resolve"]', ''];
    await writeFile(join(folder, 'hosts.toml'), lines.join('\n'));
  }

  /** Pauses the API server or the kubelet until the returned function is called; connections stay open. */
  async pause(program: 'kube-apiserver' | 'kubelet'): Promise<() => void> {
    const pid = await findProgram(program);
    process.kill(pid, 'SIGSTOP');
    return () => process.kill(pid, 'SIGCONT');
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#namespaces.map((name) => this.#removeNamespace(name)));
    for (const maker of this.#makers) await maker.stop();
    for (const undo of this.#undo.reverse()) await undo();
    await this.#kubelet?.stop();
    for (const name of this.#nodes) await this.removeNode(name);
    this.client.close();
  }

  /** Resolves when nothing runs in the namespace; Kubernetes deletes the rest in the background. */
  async #removeNamespace(name: string): Promise<void> {
    const pods = `/api/v1/namespaces/${name}/pods`;
    for (const { metadata, spec } of await this.client.list(pods)) {
      const gracePeriodSeconds = this.#nodes.includes(spec.nodeName) ? 0 : 1; // a fake node never confirms the end of a pod
      await this.client.delete(`${pods}/${metadata.name}`, { gracePeriodSeconds });
    }
    await this.client.delete(`/api/v1/namespaces/${name}`);
    const isEmpty = async () => (await this.client.list(pods)).length === 0 || undefined;
    await eventually(`no pod is left in ${name}`, isEmpty);
  }
}

async function eventually<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + GONE_TIMEOUT_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
