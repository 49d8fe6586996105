import { now } from '../coldstart/bare.ts';
import type { BenchCluster } from './bench-cluster.ts';

/** When things were first heard of, in ms since 1970. */
export interface PodMoments {
  created?: number;
  /** Its Secret. */
  secret?: number;
  scheduled?: number;
  running?: number;
  gone?: number;
}

/** Hears what becomes of the pods of a namespace. Close it. */
export class PodWatch {
  readonly #moments = new Map<string, PodMoments>();
  readonly #gone = new Map<string, () => void>();
  readonly #abort = new AbortController();

  static async open(cluster: BenchCluster): Promise<PodWatch> {
    const watch = new PodWatch();
    for (const kind of ['pods', 'secrets'] as const) {
      const { metadata } = await cluster.client.get(cluster.path(kind));
      watch.#follow(cluster, kind, metadata.resourceVersion).catch(() => {}); // it ends with the bench
    }
    return watch;
  }

  of(name: string): PodMoments {
    const known = this.#moments.get(name) ?? {};
    this.#moments.set(name, known);
    return known;
  }

  async untilGone(name: string): Promise<void> {
    if (this.of(name).gone === undefined) await new Promise<void>((resolve) => this.#gone.set(name, resolve));
  }

  close(): void {
    this.#abort.abort();
  }

  async #follow(cluster: BenchCluster, kind: 'pods' | 'secrets', version: string): Promise<void> {
    for await (const { type, object } of cluster.client.watch(cluster.path(kind), version, this.#abort.signal)) {
      const moments = this.of(object.metadata.name);
      if (kind === 'secrets') moments.secret ??= now();
      else if (type === 'DELETED') {
        moments.gone = now();
        this.#gone.get(object.metadata.name)?.();
      } else {
        moments.created ??= now();
        if (object.spec.nodeName) moments.scheduled ??= now();
        if (object.status.phase === 'Running') moments.running ??= now();
      }
    }
  }
}
