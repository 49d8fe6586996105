import type { WatchEvent } from '../../test/kubernetes/kube-client.ts';
import { now } from '../coldstart/bare.ts';
import type { BenchCluster } from './bench-cluster.ts';

/** When each event was first seen, in ms since 1970. */
export interface PodMoments {
  created?: number;
  /** When its Secret was created. */
  secret?: number;
  scheduled?: number;
  gone?: number;
}

/** Watches the pods of a namespace until it is closed. */
export class PodWatch {
  readonly #moments = new Map<string, PodMoments>();
  readonly #gone = new Map<string, () => void>();
  readonly #abort = new AbortController();

  static async open(cluster: BenchCluster): Promise<PodWatch> {
    const watch = new PodWatch();
    for (const kind of ['pods', 'secrets'] as const) void watch.#follow(cluster, kind);
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

  /** Resumes after whatever ends the watch: others may pause or restart the server. */
  async #follow(cluster: BenchCluster, kind: 'pods' | 'secrets'): Promise<void> {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const { items, metadata } = await cluster.client.get(cluster.path(kind));
        const there = new Set(items.map((item: { metadata: { name: string } }) => item.metadata.name));
        if (kind === 'pods') {
          for (const [name, { created }] of this.#moments) if (created && !there.has(name)) this.#recordGone(name);
        }
        for await (const event of cluster.client.watch(cluster.path(kind), metadata.resourceVersion, signal)) {
          this.#record(kind, event);
        }
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    }
  }

  #record(kind: 'pods' | 'secrets', { type, object }: WatchEvent): void {
    const moments = this.of(object.metadata.name);
    if (kind === 'secrets') moments.secret ??= now();
    else if (type === 'DELETED') this.#recordGone(object.metadata.name);
    else {
      moments.created ??= now();
      if (object.spec.nodeName) moments.scheduled ??= now();
    }
  }

  #recordGone(name: string): void {
    this.of(name).gone ??= now();
    this.#gone.get(name)?.();
  }
}
