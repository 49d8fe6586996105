import { Failure } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { parsePort } from '../ports.ts';
import type { PublishedPort, WorkloadSpec } from '../runtime.ts';
import { ApiError, isRefusal } from './api-server.ts';
import type { ClusterView } from './cluster-view.ts';
import type { ApiObject, Service } from './objects.ts';
import { labelsOf, nameOf, ownerOf } from './pod-manifest.ts';
import { LABELS, type PodRecord } from './pod-record.ts';
import { type Kept, Reflector } from './reflector.ts';

interface ServiceRecord extends Kept {
  podUid: string | undefined;
  nodePorts: ReadonlyMap<number, number>;
  /** Where a load balancer answers. */
  ingress: string | null;
}

/** What a cluster lets its node ports be, unless its operator says otherwise. */
const NODE_PORTS = { from: 30_000, to: 32_767 };
/** A load balancer that has no address by then gets one after the start. */
const INGRESS_MS = 60_000;

/** Where TCP ports of pods are published: a Service for each pod, which the pod owns. */
export class PodServices {
  readonly #cluster: ClusterView;
  readonly #services: Reflector<ServiceRecord>;
  readonly #installation: string;

  constructor(options: { cluster: ClusterView; installation: string; logger: Logger }) {
    const { cluster, installation, logger } = options;
    this.#cluster = cluster;
    this.#installation = installation;
    this.#services = new Reflector({
      name: 'services',
      api: cluster.api,
      path: cluster.path('services'),
      query: { labelSelector: `${LABELS.installation}=${installation},${LABELS.id}` },
      keep: toServiceRecord,
      logger,
    });
  }

  /** What is published is known from here on. */
  async current(): Promise<void> {
    const isNeeded = this.#services.isStarted || [...this.#cluster.pods.all()].some((pod) => this.#isPublished(pod));
    if (isNeeded) await this.#services.current();
  }

  /** Publishes the pod's TCP ports, if it has any. */
  async publish(spec: WorkloadSpec, pod: PodRecord): Promise<void> {
    if (!this.#isPublished(pod)) return;
    await this.#services.current();
    if (this.#services.get(pod.key)?.podUid === pod.uid) return;
    const ports = tcpPorts(pod).map((port) => ({
      name: `tcp-${port}`,
      port,
      protocol: 'TCP',
      ...nodePortOf(spec.publicPorts?.[port]),
    }));
    const body = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: nameOf(spec.id),
        labels: labelsOf(spec.id, spec.kind, this.#installation),
        ownerReferences: [ownerOf(spec.id, pod.uid)],
      },
      spec: { type: this.#cluster.settings.serviceType, selector: { [LABELS.id]: spec.id }, ports },
    };
    await this.#make(body, pod);
    if (this.#cluster.settings.serviceType === 'LoadBalancer') await this.#awaitIngress(pod);
  }

  portsOf(pod: PodRecord): PublishedPort[] {
    return pod.ports.map((item): PublishedPort => {
      const port = parsePort(item);
      if (port.type === 'http') return { ...port, public: port.private, ip: pod.address };
      const service = this.#isPublished(pod) ? this.#services.get(pod.key) : undefined;
      const found = service && this.#placeOf(pod, service, port.private);
      return { ...port, ...(found ?? { public: null, ip: null }) };
    });
  }

  close(): void {
    this.#services.stop();
  }

  #isPublished(pod: PodRecord): boolean {
    return this.#cluster.settings.serviceType !== null && pod.kind === 'pod' && tcpPorts(pod).length > 0;
  }

  #placeOf(pod: PodRecord, service: ServiceRecord, port: number): { public: number; ip: string } | undefined {
    const { serviceType, publicIp } = this.#cluster.settings;
    if (serviceType === 'LoadBalancer')
      return service.ingress === null ? undefined : { public: port, ip: service.ingress };
    const nodePort = service.nodePorts.get(port);
    const node = this.#cluster.nodes.get(pod.nodeName ?? '');
    const ip = publicIp ?? node?.externalIp ?? node?.internalIp ?? null;
    return nodePort === undefined || ip === null ? undefined : { public: nodePort, ip };
  }

  async #make(body: object, pod: PodRecord, isLast = false): Promise<void> {
    const { api } = this.#cluster;
    try {
      this.#services.put(await api.json<ApiObject>({ method: 'POST', path: this.#cluster.path('services'), body }));
    } catch (error) {
      if (isRefusal(error, 409) && !isLast) {
        await this.#removeOld(pod);
        return this.#make(body, pod, true);
      }
      if (!(error instanceof ApiError)) throw error;
      throw new Failure('unavailable', `The ports of the pod could not be published: ${error.message}`, {
        cause: error,
      });
    }
  }

  /** One of a pod before this one, whose removal is still under way, makes room. */
  async #removeOld(pod: PodRecord): Promise<void> {
    try {
      await this.#cluster.api.json({ method: 'DELETE', path: this.#cluster.path('services', pod.key) });
    } catch (error) {
      if (!isRefusal(error, 404)) throw error;
    }
  }

  async #awaitIngress(pod: PodRecord): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const isThere = () => this.#services.get(pod.key)?.ingress != null;
    const end = this.#services.subscribe(() => isThere() && resolve());
    const timer = setTimeout(resolve, INGRESS_MS);
    if (!isThere()) await promise;
    clearTimeout(timer);
    end();
  }
}

function tcpPorts({ ports }: PodRecord): number[] {
  const tcp = ports.map(parsePort).filter(({ type }) => type === 'tcp');
  return [...new Set(tcp.map((port) => port.private))];
}

/** A wish that no node port can be is left to the cluster. */
function nodePortOf(wish: number | undefined): object {
  const isPossible = wish !== undefined && wish >= NODE_PORTS.from && wish <= NODE_PORTS.to;
  return isPossible ? { nodePort: wish } : {};
}

function toServiceRecord(object: ApiObject): ServiceRecord {
  const { metadata, spec, status } = object as Service;
  const { name, uid, resourceVersion } = metadata;
  const [ingress] = status?.loadBalancer?.ingress ?? [];
  const ports = (spec.ports ?? []).flatMap(({ port, nodePort }): [number, number][] =>
    nodePort === undefined ? [] : [[port, nodePort]],
  );
  return {
    key: name,
    uid,
    resourceVersion,
    podUid: metadata.ownerReferences?.[0]?.uid,
    nodePorts: new Map(ports),
    ingress: ingress?.ip ?? ingress?.hostname ?? null,
  };
}
