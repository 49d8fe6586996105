import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { newId } from '../../src/core/ids.ts';
import { KubeClient, type KubeObject } from './kube-client.ts';

const PAUSE_MS = 200;
const ROOT = '/var/tmp/podyard-volumes';

interface VolumeMakerOptions {
  kubeconfig: string;
  namespace: string;
  storageClass: string;
}

/**
 * Replaces the provisioner that the cluster lacks: creates a volume for each claim of a storage class, in a directory on the real
 * node, and deletes it with the claim. `stop` deletes what is left.
 */
export class VolumeMaker {
  readonly #client: KubeClient;
  readonly #options: VolumeMakerOptions;
  readonly #abort = new AbortController();
  /** By uid of the claim. */
  readonly #made = new Map<string, { name: string; directory: string }>();
  #loop: Promise<void> = Promise.resolve();

  static async start(options: VolumeMakerOptions): Promise<VolumeMaker> {
    const maker = new VolumeMaker(await KubeClient.open(options.kubeconfig), options);
    maker.#loop = maker.#run();
    return maker;
  }

  private constructor(client: KubeClient, options: VolumeMakerOptions) {
    this.#client = client;
    this.#options = options;
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#loop;
    for (const uid of this.#made.keys()) await this.#remove(uid);
    this.#client.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      await this.#poll().catch(() => {}); // the API server is unreachable, as some tests want it
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #poll(): Promise<void> {
    const { namespace, storageClass } = this.#options;
    const claims = await this.#client.list(`/api/v1/namespaces/${namespace}/persistentvolumeclaims`);
    const wanted = claims.filter(({ spec }) => spec.storageClassName === storageClass);
    for (const claim of wanted) if (!this.#made.has(claim.metadata.uid)) await this.#make(claim);
    const uids = new Set(wanted.map(({ metadata }) => metadata.uid));
    for (const uid of this.#made.keys()) if (!uids.has(uid)) await this.#remove(uid);
  }

  async #make({ metadata, spec }: KubeObject): Promise<void> {
    const name = `e2e-${newId(8).toLowerCase()}`;
    const directory = `${ROOT}/${name}`;
    await this.#client.create('/api/v1/persistentvolumes', {
      metadata: { name },
      spec: {
        capacity: { storage: spec.resources.requests.storage },
        accessModes: spec.accessModes,
        persistentVolumeReclaimPolicy: 'Retain',
        storageClassName: spec.storageClassName,
        claimRef: { namespace: metadata.namespace, name: metadata.name, uid: metadata.uid },
        hostPath: { path: directory, type: 'DirectoryOrCreate' },
      },
    });
    this.#made.set(metadata.uid, { name, directory });
  }

  async #remove(uid: string): Promise<void> {
    const { name, directory } = this.#made.get(uid)!;
    await this.#client.delete(`/api/v1/persistentvolumes/${name}`);
    await rm(directory, { recursive: true, force: true }); // our own cluster uses the directories of this machine
    this.#made.delete(uid);
  }
}
