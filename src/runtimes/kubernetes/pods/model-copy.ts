import { createInterface } from 'node:readline';
import type { StartOptions } from '../../runtime.ts';
import type { ClusterView } from './cluster-view.ts';
import { MODELS_CONTAINER, type PodRecord } from './pod-record.ts';

/** Follows how a starting pod gets its models. */
export class ModelCopy {
  readonly #cluster: ClusterView;
  readonly #options: StartOptions;
  #state: 'before' | 'running' | 'ended' = 'before';

  constructor(cluster: ClusterView, options: StartOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  /** Reports what has happened since the last call. */
  look(pod: PodRecord): void {
    const { onModels, onBringing } = this.#options;
    if (pod.models === null) return;
    const { isRunning, ended } = pod.models;
    if (this.#state === 'before' && (isRunning || ended !== null)) {
      this.#state = 'running';
      onModels?.(false);
      void this.#follow(pod);
    }
    if (this.#state === 'running' && ended?.exitCode === 0) {
      this.#state = 'ended';
      onModels?.(true);
      onBringing?.(null);
    }
  }

  /** Lost lines do no harm: the end of the container says how it went. */
  async #follow(pod: PodRecord): Promise<void> {
    const { onProgress, onBringing } = this.#options;
    try {
      const path = this.#cluster.path('pods', pod.key, 'log');
      const query = { container: MODELS_CONTAINER, follow: true };
      const stream = await this.#cluster.api.stream({ method: 'GET', path, query, timeoutMs: 3_600_000 });
      for await (const line of createInterface({ input: stream })) {
        onProgress?.(line);
        if (this.#state === 'running') onBringing?.(line);
      }
    } catch {
      // see above
    }
  }
}
