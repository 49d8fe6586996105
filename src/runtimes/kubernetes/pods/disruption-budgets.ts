import { isRefusal, orAbsent } from '../../../engine/refusal.ts';
import type { EvictionGuard } from '../../runtime.ts';
import { APPLY_PATCH } from '../api/api-server.ts';
import type { ApiObject } from '../api/objects.ts';
import type { ClusterView } from './cluster-view.ts';
import { LABELS } from './pod-record.ts';

const API = '/apis/policy/v1';
const KIND = 'disruption-budget';

interface Budget extends ApiObject {
  spec?: { minAvailable?: number };
}

/**
 * A PodDisruptionBudget for each guarded endpoint. `minAvailable` as a number is the only form that the eviction API accepts for
 * pods without a controller, as ours are.
 */
export class DisruptionBudgets implements EvictionGuard {
  readonly #open: () => Promise<ClusterView>;
  readonly #installation: string;

  constructor(open: () => Promise<ClusterView>, installation: string) {
    this.#open = open;
    this.#installation = installation;
  }

  async list(): Promise<Map<string, number> | null> {
    const cluster = await this.#open();
    const labelSelector = `${LABELS.installation}=${this.#installation},${LABELS.kind}=${KIND}`;
    const request = { method: 'GET', path: pathOf(cluster), query: { labelSelector } } as const;
    try {
      const { items } = await cluster.api.json<{ items: Budget[] }>(request);
      return new Map(
        items.flatMap(({ metadata, spec }) => {
          const endpointId = metadata.labels?.[LABELS.endpoint];
          return endpointId === undefined ? [] : [[endpointId, spec?.minAvailable ?? 0]];
        }),
      );
    } catch (error) {
      if (isRefusal(error, 403) || isRefusal(error, 404)) return null; // not granted, or before 1.21
      throw error;
    }
  }

  async keep(endpointId: string, workers: number): Promise<void> {
    const cluster = await this.#open();
    const name = nameOf(endpointId);
    const body = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: {
        name,
        labels: {
          [LABELS.installation]: this.#installation,
          [LABELS.kind]: KIND,
          [LABELS.endpoint]: endpointId,
          'app.kubernetes.io/managed-by': 'podyard',
        },
      },
      spec: { minAvailable: workers, selector: { matchLabels: { [LABELS.endpoint]: endpointId } } },
    };
    const query = { fieldManager: 'podyard', force: true };
    const path = `${pathOf(cluster)}/${name}`;
    await cluster.api.json({ method: 'PATCH', path, query, body, contentType: APPLY_PATCH });
  }

  async release(endpointId: string): Promise<void> {
    const cluster = await this.#open();
    await orAbsent(cluster.api.json({ method: 'DELETE', path: `${pathOf(cluster)}/${nameOf(endpointId)}` }));
  }
}

function pathOf({ namespace }: ClusterView): string {
  return `${API}/namespaces/${namespace}/poddisruptionbudgets`;
}

function nameOf(endpointId: string): string {
  return `podyard-${endpointId}`;
}
