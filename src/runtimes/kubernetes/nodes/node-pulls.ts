/** Has nodes pull images before a workload needs them (docs/decisions/0137-images-ahead.md). */
import { setTimeout as sleep } from 'node:timers/promises';
import { BoundedMap } from '../../../core/bounded-map.ts';
import { Failure } from '../../../core/errors.ts';
import { LOCAL_DATA_CENTER } from '../../../domain/catalog/catalog.ts';
import { repositoryOf } from '../../../domain/images/image-identity.ts';
import { orAbsent } from '../../../engine/refusal.ts';
import type { AheadImage } from '../../runtime.ts';
import { opaqueName } from '../../workload-spec.ts';
import type { ApiObject, Pod } from '../api/objects.ts';
import type { ClusterView } from '../pods/cluster-view.ts';
import { fullName } from '../pods/image-identity.ts';
import { lacksImage } from '../pods/observed-pod.ts';
import { registrySecretName } from '../pods/pod-manifest.ts';
import { CONTAINER, LABELS } from '../pods/pod-record.ts';
import type { RegistrySecrets } from '../pods/registry-secrets.ts';
import { gpuOfProduct, type NodeRecord } from './nodes.ts';

const POLL_MS = 2_000;
const PULL_MS = 3_600_000;
const MAX_ASKED = 100_000;
/** A program that no image has: nothing of it runs. */
const NO_PROGRAM = '/podyard-pulls-this-image-only';

interface NodeImages extends ApiObject {
  status?: { images?: { names?: string[] | null }[] };
}

interface Options {
  cluster: ClusterView;
  registries: Pick<RegistrySecrets, 'ensure'>;
  installation: string;
  areGpusSimulated: boolean;
}

/** Pulls with a pod that has no program, is bound to the node and deleted once its image is there. One at a time. */
export class NodePulls {
  readonly #options: Options;
  /** By node and image: a node that has dropped an image since needed the room. */
  readonly #asked = new BoundedMap<string, true>(MAX_ASKED);

  constructor(options: Options) {
    this.#options = options;
  }

  /** See `Runtime.pullAhead`. */
  async pullAhead(wanted: AheadImage, signal: AbortSignal): Promise<boolean> {
    const { cluster, areGpusSimulated } = this.#options;
    await cluster.nodes.current();
    for (const node of await cluster.nodesWithGpus()) {
      const key = `${node.uid} ${wanted.image}`;
      if (!couldRun(node, wanted, areGpusSimulated) || this.#asked.has(key)) continue;
      this.#asked.set(key, true);
      if (await this.#hasImage(node, wanted.image)) continue;
      await this.#pull(node, wanted, signal);
      return true;
    }
    return false;
  }

  /** Nodes report their largest images only. One that is there but not reported costs a pod that ends at once. */
  async #hasImage({ key }: NodeRecord, image: string): Promise<boolean> {
    const query = { fieldSelector: `metadata.name=${key}` };
    const { api } = this.#options.cluster;
    const { items } = await api.json<{ items: NodeImages[] }>({ method: 'GET', path: '/api/v1/nodes', query });
    return items.some(({ status }) =>
      isAmong(
        image,
        (status?.images ?? []).flatMap(({ names }) => names ?? []),
      ),
    );
  }

  async #pull(node: NodeRecord, wanted: AheadImage, signal: AbortSignal): Promise<void> {
    const { cluster, registries } = this.#options;
    const pod = pullPod(wanted, node.key, this.#options);
    await registries.ensure(wanted);
    await this.#remove(pod.metadata.name); // a leader that was killed has left it
    await cluster.api.json({ method: 'POST', path: cluster.path('pods'), body: pod });
    try {
      const deadline = performance.now() + PULL_MS;
      for (;;) {
        await sleep(POLL_MS, undefined, { signal });
        const path = cluster.path('pods', pod.metadata.name);
        const now = await orAbsent(cluster.api.json<Pod>({ method: 'GET', path }));
        if (!now || hasPulled(now)) return;
        if (performance.now() > deadline) throw new Failure('unavailable', `Node ${node.key} pulls for an hour`);
      }
    } finally {
      await this.#remove(pod.metadata.name);
    }
  }

  async #remove(name: string): Promise<void> {
    const { cluster } = this.#options;
    const body = { gracePeriodSeconds: 0 };
    await orAbsent(cluster.api.json({ method: 'DELETE', path: cluster.path('pods', name), body }));
  }
}

/** True for a node where the scheduler could place a worker. */
export function couldRun(
  node: NodeRecord,
  { gpuPools, dataCenterIds }: Pick<AheadImage, 'gpuPools' | 'dataCenterIds'>,
  areGpusSimulated: boolean,
): boolean {
  if (!node.isUsable || node.unreadySince !== null) return false;
  if (areGpusSimulated) return true;
  if (dataCenterIds.length > 0 && !dataCenterIds.includes(node.dataCenterId ?? LOCAL_DATA_CENTER)) return false;
  return gpuPools.length === 0 || (node.gpus > 0 && gpuPools.includes(gpuOfProduct(node.gpuProduct ?? '').pool));
}

/** `names`: `docker.io/library/nginx:1.27` or `…@sha256:…`, as container runtimes spell them. */
export function isAmong(image: string, names: readonly string[]): boolean {
  const wanted = spelledOut(image);
  return names.some((name) => spelledOut(name) === wanted);
}

function spelledOut(image: string): string {
  const repository = repositoryOf(image);
  return fullName(repository) + (image.slice(repository.length) || ':latest');
}

/**
 * True once the image is there, which a container that cannot start shows, too. Throws what the kubelet says of an image that cannot be
 * pulled, and of a pod that it does not take.
 */
export function hasPulled({ status }: Pick<Pod, 'status'>): boolean {
  const { waiting, running, terminated } =
    status?.containerStatuses?.find(({ name }) => name === CONTAINER)?.state ?? {};
  if (running || terminated) return true;
  const { reason = '', message = '' } = waiting ?? {};
  if (lacksImage(reason)) throw new Failure('unprocessable', `${reason}: ${message}`);
  if (status?.phase === 'Failed') throw new Failure('unavailable', `${status.reason ?? ''}: ${status.message ?? ''}`);
  return /^(Create|Run)Container/.test(reason) || reason === 'CrashLoopBackOff';
}

/** No workload: it has no id. The scheduler has no part in it, for it needs nothing that a node could lack. */
export function pullPod(
  { image, registry }: Pick<AheadImage, 'image' | 'registry'>,
  nodeName: string,
  { cluster: { settings }, installation }: { cluster: Pick<ClusterView, 'settings'>; installation: string },
) {
  const isRestricted = settings.podSecurity === 'restricted';
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `podyard-pull-${opaqueName(installation, 'pull')}`,
      labels: {
        ...settings.podLabels,
        [LABELS.installation]: installation,
        [LABELS.kind]: 'pull',
        'app.kubernetes.io/managed-by': 'podyard',
      },
      annotations: settings.podAnnotations,
    },
    spec: {
      nodeName,
      restartPolicy: 'Never',
      activeDeadlineSeconds: PULL_MS / 1_000,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { seccompProfile: { type: 'RuntimeDefault' }, ...(isRestricted && { runAsNonRoot: true }) },
      tolerations: settings.tolerations,
      ...(registry && { imagePullSecrets: [{ name: registrySecretName(registry.id) }] }),
      containers: [
        {
          name: CONTAINER,
          image,
          imagePullPolicy: 'IfNotPresent',
          command: [NO_PROGRAM],
          resources: {
            limits: { cpu: '100m', memory: '64Mi', 'ephemeral-storage': '64Mi' },
            requests: { cpu: '0', memory: '0', 'ephemeral-storage': '0' },
          },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
}
