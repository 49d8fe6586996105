import { type Clock, monotonicClock, systemClock } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import type { WorkloadSpec } from '../../runtime.ts';
import { APPLY_PATCH } from '../api/api-server.ts';
import type { ApiObject } from '../api/objects.ts';
import type { ClusterView } from './cluster-view.ts';
import { registrySecret, registrySecretName } from './pod-manifest.ts';
import { LABELS } from './pod-record.ts';

const SWEEP_MS = 600_000;
/** A pod about to be created may need a young Secret. */
const MIN_AGE_MS = 600_000;

/** Credentials of private registries, one Secret per record. Removes those that no pod needs. */
export class RegistrySecrets {
  readonly #deps: { cluster: ClusterView; installation: string; logger: Logger };
  readonly #clock: Clock;
  #sweptAt = monotonicClock.now();

  constructor(deps: { cluster: ClusterView; installation: string; logger: Logger }, clock: Clock = systemClock) {
    this.#deps = deps;
    this.#clock = clock;
  }

  /** Creates or updates the Secret in one request. */
  async ensure({ registry, image }: Pick<WorkloadSpec, 'registry' | 'image'>): Promise<void> {
    if (!registry) return;
    const { cluster, installation } = this.#deps;
    const path = cluster.path('secrets', registrySecretName(registry.id));
    const body = registrySecret(registry.id, image, registry.auth, installation);
    const query = { fieldManager: 'podyard', force: true };
    await cluster.api.json({ method: 'PATCH', path, query, body, contentType: APPLY_PATCH });
  }

  /** Sweeps at most every ten minutes; call it regularly. */
  sweepSometimes(): void {
    if (monotonicClock.now() - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = monotonicClock.now();
    this.sweep().catch((error) => {
      this.#deps.logger.warn({ err: error }, 'unused registry secrets could not be removed');
    });
  }

  async sweep(minAgeMs = MIN_AGE_MS): Promise<void> {
    const { cluster, installation } = this.#deps;
    const { api, pods } = cluster;
    const path = cluster.path('secrets');
    const labelSelector = `${LABELS.installation}=${installation},${LABELS.kind}=registry`;
    const { items } = await api.json<{ items: ApiObject[] }>({ method: 'GET', path, query: { labelSelector } });
    const needed = new Set([...pods.all()].flatMap(({ pullSecrets }) => pullSecrets));
    for (const { metadata } of items) {
      const ageMs = this.#clock.now() - new Date(metadata.creationTimestamp ?? 0).getTime();
      if (needed.has(metadata.name) || ageMs < minAgeMs) continue;
      await api.json({ method: 'DELETE', path: `${path}/${metadata.name}` });
    }
  }
}
