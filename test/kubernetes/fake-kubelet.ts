import { setTimeout as sleep } from 'node:timers/promises';
import { KubeClient, KubeError, type KubeObject } from './kube-client.ts';

const RELIST_MS = 200;

export interface FakeKubeletOptions {
  kubeconfig: string;
  /** True for fake nodes, whose pods this plays. */
  isFake: (node: string) => boolean;
  /** How long a container takes to start. */
  startMs?: number;
  /** The address that played pods report. */
  podIp?: string;
}

/**
 * Plays the kubelet of fake nodes: pods bound to them are Running after a moment, and gone soon after they are deleted. It lists
 * once and then watches, so thousands of pods are fine. Call `stop` after use.
 */
export class FakeKubelet {
  readonly #client: KubeClient;
  readonly #options: FakeKubeletOptions;
  readonly #abort = new AbortController();
  /** The uids of pods that were started or deleted already. */
  readonly #started = new Set<string>();
  readonly #deleted = new Set<string>();
  readonly #lost = new Set<string>();
  #loop: Promise<void> = Promise.resolve();

  static async start(options: FakeKubeletOptions): Promise<FakeKubelet> {
    const kubelet = new FakeKubelet(await KubeClient.open(options.kubeconfig), options);
    kubelet.#loop = kubelet.#run();
    return kubelet;
  }

  private constructor(client: KubeClient, options: FakeKubeletOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** From now on the pods of that node never change, as when its machine is lost. */
  lose(node: string): void {
    this.#lost.add(node);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#loop;
    this.#client.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const { items, metadata } = await this.#client.get('/api/v1/pods');
        for (const pod of items) this.#handle(pod);
        for await (const { type, object } of this.#client.watch('/api/v1/pods', metadata.resourceVersion, signal)) {
          if (type === 'ERROR') break; // the version is too old: lists again
          if (type === 'DELETED') this.#forget(object);
          else if (type !== 'BOOKMARK') this.#handle(object);
        }
      } catch {
        // The server is unreachable, or this was stopped.
      }
      await sleep(RELIST_MS, undefined, { signal }).catch(() => {});
    }
  }

  #handle(pod: KubeObject): void {
    const { spec, status, metadata } = pod;
    if (!spec.nodeName || this.#lost.has(spec.nodeName) || !this.#options.isFake(spec.nodeName)) return;
    const path = `/api/v1/namespaces/${metadata.namespace}/pods/${metadata.name}`;
    if (metadata.deletionTimestamp) {
      this.#once(this.#deleted, metadata.uid, () => this.#client.delete(path, { gracePeriodSeconds: 0 }));
    } else if (status.phase === 'Pending') {
      this.#once(this.#started, metadata.uid, async () => {
        await sleep(this.#options.startMs ?? 0);
        await this.#client.patch(`${path}/status`, { status: runningStatus(pod, this.#options.podIp ?? '127.0.0.1') });
      });
    }
  }

  /** Runs `act` once per uid. A failed one is repeated at the next event; a pod that is gone is ignored. */
  #once(done: Set<string>, uid: string, act: () => Promise<unknown>): void {
    if (done.has(uid)) return;
    done.add(uid);
    act().catch((error) => {
      if (!(error instanceof KubeError && error.status === 404)) done.delete(uid);
    });
  }

  #forget(pod: KubeObject): void {
    this.#started.delete(pod.metadata.uid);
    this.#deleted.delete(pod.metadata.uid);
  }
}

function runningStatus(pod: KubeObject, podIP: string): object {
  const now = new Date().toISOString().replace(/\.\d+/, '');
  const conditions = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
  return {
    phase: 'Running',
    startTime: now,
    podIP,
    podIPs: [{ ip: podIP }],
    conditions: conditions.map((type) => ({ type, status: 'True', lastTransitionTime: now })),
    containerStatuses: pod.spec.containers.map(({ name, image }: KubeObject) => ({
      name,
      image,
      imageID: image,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: now } },
    })),
  };
}
