import { Failure } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import type { PublishedPort, WorkloadSpec } from '../../runtime.ts';
import { parsePort } from '../../workload-spec.ts';
import { ApiError } from '../api/api-server.ts';
import type { ApiObject, CachedObject, Service } from '../api/objects.ts';
import { Reflector } from '../api/reflector.ts';
import type { ClusterView } from '../pods/cluster-view.ts';
import { labelsOf, ownerOf, serviceName } from '../pods/pod-manifest.ts';
import { LABELS, type PodRecord } from '../pods/pod-record.ts';

interface ServiceRecord extends CachedObject {
  podUid: string | undefined;
  nodePorts: ReadonlyMap<number, number>;
  /** The load balancer's address. */
  ingress: string | null;
}

/** Kubernetes' default range of node ports. */
const NODE_PORTS = { from: 30_000, to: 32_767 };
/** How long a start waits for the load balancer's address; it may come later. */
const INGRESS_MS = 60_000;

/** Publishes TCP ports of workloads: a Service for each of the cluster's pods, owned by it. */
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
      transform: toServiceRecord,
      logger,
    });
  }

  /** Resolves once published ports are up to date. */
  async current(): Promise<void> {
    const isNeeded = this.#services.isStarted || [...this.#cluster.pods.all()].some((pod) => this.#isPublished(pod));
    if (isNeeded) await this.#services.current();
  }

  /** Publishes the pod's TCP ports, if it has any. */
  async publish(spec: WorkloadSpec, pod: PodRecord): Promise<void> {
    if (!this.#isPublished(pod)) return;
    await this.#services.current();
    if (this.#serviceOf(pod)?.podUid === pod.uid) return;
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
        name: serviceName(spec.id, this.#installation),
        labels: labelsOf(spec.id, spec.kind, this.#installation),
        ownerReferences: [ownerOf(spec.id, pod.uid)],
      },
      spec: { type: this.#cluster.settings.serviceType, selector: { [LABELS.id]: spec.id }, ports },
    };
    await this.#create(body, pod);
    // A worker needs no address to take jobs, so its start does not wait for one.
    if (this.#cluster.settings.serviceType === 'LoadBalancer' && spec.kind === 'pod') await this.#awaitIngress(pod);
  }

  portsOf(pod: PodRecord): PublishedPort[] {
    return pod.ports.map((item): PublishedPort => {
      const port = parsePort(item);
      const service = port.type === 'tcp' && this.#isPublished(pod) ? this.#serviceOf(pod) : undefined;
      const found = service && this.#placeOf(pod, service, port.private);
      return { ...port, ...(found ?? { public: null, ip: null }) };
    });
  }

  close(): void {
    this.#services.stop();
  }

  /** Those of older versions have the name of the pod. */
  #serviceOf(pod: PodRecord): ServiceRecord | undefined {
    return this.#services.get(serviceName(pod.id, this.#installation)) ?? this.#services.get(pod.key);
  }

  #isPublished(pod: PodRecord): boolean {
    return this.#cluster.settings.serviceType !== null && tcpPorts(pod).length > 0;
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

  async #create(body: object, pod: PodRecord, isLast = false): Promise<void> {
    const { api } = this.#cluster;
    try {
      this.#services.put(await api.json<ApiObject>({ method: 'POST', path: this.#cluster.path('services'), body }));
    } catch (error) {
      if (isRefusal(error, 409) && !isLast) {
        await this.#removeOld(pod);
        return this.#create(body, pod, true);
      }
      if (!(error instanceof ApiError)) throw error;
      throw new Failure('unavailable', `The ports of the pod could not be published: ${error.message}`, {
        cause: error,
      });
    }
  }

  /** Removes the Service of an earlier pod whose deletion is still in progress. */
  async #removeOld(pod: PodRecord): Promise<void> {
    const name = serviceName(pod.id, this.#installation);
    await orAbsent(this.#cluster.api.json({ method: 'DELETE', path: this.#cluster.path('services', name) }));
  }

  async #awaitIngress(pod: PodRecord): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const isThere = () => this.#serviceOf(pod)?.ingress != null;
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

/** Uses the requested port if it can be a node port; otherwise the cluster chooses. */
function nodePortOf(requested: number | undefined): object {
  const isPossible = requested !== undefined && requested >= NODE_PORTS.from && requested <= NODE_PORTS.to;
  return isPossible ? { nodePort: requested } : {};
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
