import { type Clock, monotonicClock } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import type { WorkloadSpec } from '../../runtime.ts';
import { APPLY_PATCH } from '../api/api-server.ts';
import type { ApiObject } from '../api/objects.ts';
import type { ClusterView } from './cluster-view.ts';
import { registrySecret, registrySecretName } from './pod-manifest.ts';
import { LABELS } from './pod-record.ts';

const SWEEP_MS = 600_000;
/** A Secret that was unneeded for less may be that of a pod about to be created. */
const MIN_UNNEEDED_MS = 600_000;

/** Credentials of private registries, one Secret per record. Removes those that no pod needs. */
export class RegistrySecrets {
  readonly #deps: { cluster: ClusterView; installation: string; logger: Logger };
  readonly #monotonic: Clock;
  #sweptAt: number;
  /** When each was first seen without a pod: its age would be by the cluster's clock, which may be another. */
  #unneededSince = new Map<string, number>();

  constructor(deps: { cluster: ClusterView; installation: string; logger: Logger }, monotonic: Clock = monotonicClock) {
    this.#deps = deps;
    this.#monotonic = monotonic;
    this.#sweptAt = monotonic.now();
  }

  /** Creates or updates the Secret in one request. */
  async ensure({ registry, image }: Pick<WorkloadSpec, 'registry' | 'image'>): Promise<void> {
    if (!registry) return;
    const { cluster, installation } = this.#deps;
    const name = registrySecretName(registry.id);
    this.#unneededSince.delete(name);
    const path = cluster.path('secrets', name);
    const body = registrySecret(registry.id, image, registry.auth, installation);
    const query = { fieldManager: 'podyard', force: true };
    await cluster.api.json({ method: 'PATCH', path, query, body, contentType: APPLY_PATCH });
  }

  /** Sweeps at most every ten minutes; call it regularly. */
  sweepSometimes(): void {
    if (this.#monotonic.now() - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = this.#monotonic.now();
    this.sweep().catch((error) => {
      this.#deps.logger.warn({ err: error }, 'unused registry secrets could not be removed');
    });
  }

  async sweep(): Promise<void> {
    const { cluster, installation } = this.#deps;
    const { api, pods } = cluster;
    const path = cluster.path('secrets');
    const labelSelector = `${LABELS.installation}=${installation},${LABELS.kind}=registry`;
    const { items } = await api.json<{ items: ApiObject[] }>({ method: 'GET', path, query: { labelSelector } });
    const needed = new Set([...pods.all()].flatMap(({ pullSecrets }) => pullSecrets));
    const now = this.#monotonic.now();
    const unneeded = items.map(({ metadata }) => metadata.name).filter((name) => !needed.has(name));
    this.#unneededSince = new Map(unneeded.map((name) => [name, this.#unneededSince.get(name) ?? now]));
    for (const [name, since] of [...this.#unneededSince]) {
      if (now - since < MIN_UNNEEDED_MS || !this.#unneededSince.has(name)) continue;
      await api.json({ method: 'DELETE', path: `${path}/${name}` });
    }
  }
}
