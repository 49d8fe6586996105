/** Pods that serve the files of network volumes (docs/decisions/0138-files-of-volumes-on-a-cluster.md). They are not workloads. */
import type { KubernetesSettings } from '../../../config/kubernetes-settings.ts';
import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import type { FileServerPods, StorageOwner, StorageRequest, WorkloadSpec } from '../../runtime.ts';
import type { Pod } from '../api/objects.ts';
import type { ClusterView } from './cluster-view.ts';
import { affinityOf } from './pod-affinity.ts';
import { LABELS } from './pod-record.ts';

const KIND = 'files';
const PORT = 8080;
const TOKEN_KEY = 'FILES_TOKEN';
const ROOT = '/volume';
const IDLE_SECONDS = 600;
/** Meanwhile no worker of another node can mount the volume. */
const IDLE_SECONDS_OF_ONE_NODE = 60;
/** So that files of images that run as any user can be read, written and removed. */
const CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER'];

export interface FilePodsOptions {
  view: () => Promise<ClusterView>;
  settings: KubernetesSettings;
  installation: string;
  /** GPUs are simulated: any node is in any data center. */
  isSimulated: boolean;
  /** Creates or grows the claim of a volume. */
  ensure: (owner: StorageOwner, request: StorageRequest) => Promise<string>;
}

export class FilePods implements FileServerPods {
  readonly hindrance: string | null;
  readonly #options: FilePodsOptions;

  constructor(options: FilePodsOptions) {
    this.#options = options;
    this.hindrance =
      options.settings.modelsImage === null
        ? 'this server keeps them in the cluster, and PODYARD_KUBERNETES_MODELS_IMAGE does not name the image of Podyard that would serve them'
        : null;
  }

  async find(volumeId: string): Promise<{ host: string; port: number } | { waits: string } | null> {
    const cluster = await this.#options.view();
    const path = cluster.path('pods', nameOf(volumeId));
    const pod = await orAbsent(cluster.api.json<Pod>({ method: 'GET', path }));
    if (!pod || isEnding(pod)) return null;
    const { phase, podIP, conditions = [], containerStatuses = [] } = pod.status ?? {};
    if (phase === 'Running' && podIP) return { host: podIP, port: PORT };
    const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
    const waiting = containerStatuses[0]?.state?.waiting;
    const why = scheduled?.status === 'False' ? scheduled.message : (waiting?.message ?? waiting?.reason);
    return { waits: why ?? 'its pod starts' };
  }

  async start(owner: StorageOwner & { kind: 'volume' }, request: StorageRequest, token: string): Promise<void> {
    const claim = await this.#options.ensure(owner, request);
    const cluster = await this.#options.view();
    const name = nameOf(owner.id);
    const before = await orAbsent(cluster.api.json<Pod>({ method: 'GET', path: cluster.path('pods', name) }));
    if (before && !isEnding(before)) return;
    if (before && !before.metadata.deletionTimestamp) await this.#delete('pods', name);
    const metadata = { name, labels: this.#labelsOf(owner.id) };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { [TOKEN_KEY]: token } };
    await this.#create('secrets', secret);
    await cluster.pods.current();
    const nodes = [...cluster.pods.all()].flatMap(({ claims, nodeName, phase }) =>
      claims.includes(claim) && nodeName !== null && phase !== 'Succeeded' && phase !== 'Failed' ? [nodeName] : [],
    );
    await this.#create('pods', this.#manifest({ metadata, claim, dataCenterId: owner.dataCenterId, nodes }));
  }

  /** Removes the one of a volume with its secret. */
  async remove(volumeId: string): Promise<void> {
    for (const kind of ['pods', 'secrets']) await this.#delete(kind, nameOf(volumeId));
  }

  async sweep(): Promise<void> {
    const cluster = await this.#options.view();
    const labelSelector = `${LABELS.installation}=${this.#options.installation},${LABELS.kind}=${KIND}`;
    const path = cluster.path('pods');
    const { items } = await cluster.api.json<{ items: Pod[] }>({ method: 'GET', path, query: { labelSelector } });
    for (const pod of items) {
      if (isEnding(pod) && !pod.metadata.deletionTimestamp) await this.#delete('pods', pod.metadata.name);
    }
  }

  #manifest({
    metadata,
    claim,
    dataCenterId,
    nodes,
  }: {
    metadata: { name: string; labels: Record<string, string> };
    claim: string;
    dataCenterId: string;
    /** Where workloads have the volume. */
    nodes: readonly string[];
  }): object {
    const { settings, installation, isSimulated } = this.#options;
    const isOfOneNode = settings.accessMode !== 'ReadWriteMany';
    const isRestricted = settings.podSecurity === 'restricted';
    const place = { installation, settings, gpuProducts: isSimulated ? null : [] };
    const there = { key: 'metadata.name', operator: 'In', values: nodes.slice(0, 1) };
    const affinity =
      isOfOneNode && nodes.length > 0
        ? {
            affinity: {
              nodeAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields: [there] }] },
              },
            },
          }
        : affinityOf({ gpu: null, dataCenterId } as WorkloadSpec, place);
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: {
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: 5,
        securityContext: {
          seccompProfile: { type: 'RuntimeDefault' },
          ...(isRestricted ? { runAsNonRoot: true } : { runAsUser: 0 }),
        },
        nodeSelector: settings.nodeSelector,
        ...affinity,
        tolerations: settings.tolerations,
        containers: [
          {
            name: KIND,
            image: settings.modelsImage,
            ...(settings.pullPolicy && { imagePullPolicy: settings.pullPolicy }),
            args: ['serve-files', ROOT, '--port', String(PORT)],
            env: [
              { name: TOKEN_KEY, valueFrom: { secretKeyRef: { name: metadata.name, key: TOKEN_KEY } } },
              { name: 'FILES_IDLE_SECONDS', value: String(isOfOneNode ? IDLE_SECONDS_OF_ONE_NODE : IDLE_SECONDS) },
            ],
            ports: [{ containerPort: PORT, protocol: 'TCP' }],
            resources: { limits: { memory: '1Gi' }, requests: { cpu: '50m', memory: '128Mi' } },
            securityContext: {
              allowPrivilegeEscalation: false,
              capabilities: { drop: ['ALL'], ...(!isRestricted && { add: CAPABILITIES }) },
            },
            volumeMounts: [{ name: 'volume', mountPath: ROOT }],
          },
        ],
        volumes: [{ name: 'volume', persistentVolumeClaim: { claimName: claim } }],
      },
    };
  }

  #labelsOf(volumeId: string): Record<string, string> {
    return {
      [LABELS.installation]: this.#options.installation,
      [LABELS.kind]: KIND,
      'podyard.dev/volume': volumeId,
      'app.kubernetes.io/managed-by': 'podyard',
    };
  }

  /** One that is there already stays. */
  async #create(kind: string, body: object): Promise<void> {
    const cluster = await this.#options.view();
    try {
      await cluster.api.json({ method: 'POST', path: cluster.path(kind), body });
    } catch (error) {
      if (!isRefusal(error, 409)) throw error;
    }
  }

  async #delete(kind: string, name: string): Promise<void> {
    const cluster = await this.#options.view();
    await orAbsent(cluster.api.json({ method: 'DELETE', path: cluster.path(kind, name) }));
  }
}

function nameOf(volumeId: string): string {
  return `podyard-files-${volumeId}`.toLowerCase();
}

function isEnding({ metadata, status }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined || status?.phase === 'Succeeded' || status?.phase === 'Failed';
}
