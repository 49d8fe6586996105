import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { WorkloadSpec } from '../runtime.ts';
import { APPLY_PATCH } from './api-server.ts';
import type { ClusterView } from './cluster-view.ts';
import type { ApiObject } from './objects.ts';
import { registrySecret, registrySecretName } from './pod-manifest.ts';
import { LABELS } from './pod-record.ts';

const SWEEP_MS = 600_000;
/** A pod that needs it may be about to be made. */
const YOUNG_MS = 600_000;

/** Credentials of private registries, one Secret for each record; those that no pod needs any more are removed. */
export class RegistrySecrets {
  readonly #cluster: ClusterView;
  readonly #installation: string;
  readonly #logger: Logger;
  #sweptAt = performance.now();

  constructor(options: { cluster: ClusterView; installation: string; logger: Logger }) {
    this.#cluster = options.cluster;
    this.#installation = options.installation;
    this.#logger = options.logger;
  }

  /** Made, or brought up to date, in one request. */
  async ensure({ registry, image }: WorkloadSpec): Promise<void> {
    if (!registry) return;
    const path = this.#cluster.path('secrets', registrySecretName(registry.id));
    const body = registrySecret(registry.id, image, registry.auth, this.#installation);
    const query = { fieldManager: 'podyard', force: true };
    await this.#cluster.api.json({ method: 'PATCH', path, query, body, contentType: APPLY_PATCH });
  }

  /** Looks now and then, when it is called often enough. */
  sweepSometimes(): void {
    if (performance.now() - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = performance.now();
    this.sweep().catch((error) => {
      this.#logger.warn({ err: error }, `unused registry secrets could not be removed: ${messageOf(error)}`);
    });
  }

  async sweep(youngMs = YOUNG_MS): Promise<void> {
    const { api, pods } = this.#cluster;
    const path = this.#cluster.path('secrets');
    const labelSelector = `${LABELS.installation}=${this.#installation},${LABELS.kind}=registry`;
    const { items } = await api.json<{ items: ApiObject[] }>({ method: 'GET', path, query: { labelSelector } });
    const needed = new Set([...pods.all()].flatMap(({ pullSecrets }) => pullSecrets));
    for (const { metadata } of items) {
      const ageMs = Date.now() - new Date(metadata.creationTimestamp ?? 0).getTime();
      if (needed.has(metadata.name) || ageMs < youngMs) continue;
      await api.json({ method: 'DELETE', path: `${path}/${metadata.name}` });
    }
  }
}
