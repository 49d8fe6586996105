import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import { type Group, type GroupNetwork, type GroupNetworks, RENDEZVOUS_PORT } from '../../groups.ts';
import { parsePort } from '../../workload-spec.ts';
import type { ApiObject } from '../api/objects.ts';
import type { ClusterView } from '../pods/cluster-view.ts';
import { groupName, LABELS, memberHostname } from '../pods/pod-record.ts';

const KIND = 'group';
const POLICIES = '/apis/networking.k8s.io/v1';

/**
 * A headless Service for each group, whose DNS gives each of its pods a name before the pod is ready, and a NetworkPolicy: others
 * reach only the ports that the pods list. The policy works where the cluster's network enforces such policies.
 */
export class GroupServices implements GroupNetworks {
  readonly #open: () => Promise<ClusterView>;
  readonly #installation: string;

  constructor(open: () => Promise<ClusterView>, installation: string) {
    this.#open = open;
    this.#installation = installation;
  }

  async ensure(group: Group): Promise<GroupNetwork> {
    const cluster = await this.#open();
    const name = groupName(group.id, this.#installation);
    // The policy first: no pod of the group is open to others even for a moment.
    await this.#create(
      cluster,
      `${POLICIES}/namespaces/${cluster.namespace}/networkpolicies`,
      this.#policyOf(group, name),
    );
    await this.#create(cluster, cluster.path('services'), this.#serviceOf(group, name));
    const primary = `${memberHostname(0)}.${name}.${cluster.namespace}.svc`;
    return { cidr: null, primary, port: RENDEZVOUS_PORT, interfaceName: null, addressOf: () => null };
  }

  async remove(id: string): Promise<void> {
    const cluster = await this.#open();
    const name = groupName(id, this.#installation);
    const paths = [
      cluster.path('services', name),
      `${POLICIES}/namespaces/${cluster.namespace}/networkpolicies/${name}`,
    ];
    for (const path of paths) {
      await orAbsent(cluster.api.json({ method: 'DELETE', path }));
    }
  }

  async list(): Promise<string[]> {
    const cluster = await this.#open();
    const labelSelector = `${LABELS.installation}=${this.#installation},${LABELS.kind}=${KIND}`;
    const request = { method: 'GET', path: cluster.path('services'), query: { labelSelector } } as const;
    const { items } = await cluster.api.json<{ items: ApiObject[] }>(request);
    return items.flatMap(({ metadata }) => metadata.labels?.[LABELS.group] ?? []);
  }

  async #create({ api }: ClusterView, path: string, body: object): Promise<void> {
    try {
      await api.json({ method: 'POST', path, body });
    } catch (error) {
      if (!isRefusal(error, 409)) throw error; // it exists, and never changes
    }
  }

  #metadataOf({ id }: Group, name: string): object {
    const labels = {
      [LABELS.installation]: this.#installation,
      [LABELS.kind]: KIND,
      [LABELS.group]: id,
      'app.kubernetes.io/managed-by': 'podyard',
    };
    return { name, labels };
  }

  #serviceOf(group: Group, name: string): object {
    return {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: this.#metadataOf(group, name),
      spec: { clusterIP: 'None', publishNotReadyAddresses: true, selector: { [LABELS.group]: group.id } },
    };
  }

  #policyOf(group: Group, name: string): object {
    const podSelector = { matchLabels: { [LABELS.group]: group.id } };
    const ports = [...new Set(group.ports.map((port) => parsePort(port).private))];
    return {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: this.#metadataOf(group, name),
      spec: {
        podSelector,
        policyTypes: ['Ingress'],
        ingress: [
          { from: [{ podSelector }] },
          ...(ports.length > 0 ? [{ ports: ports.map((port) => ({ port, protocol: 'TCP' })) }] : []),
        ],
      },
    };
  }
}
