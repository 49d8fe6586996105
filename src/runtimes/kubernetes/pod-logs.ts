import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, notFound } from '../../core/errors.ts';
import { LogPlace } from '../docker/log-frames.ts';
import type { LogLine, LogsOptions } from '../runtime.ts';
import { isRefusal } from './api-server.ts';
import type { ClusterView } from './cluster-view.ts';
import { LogText } from './log-text.ts';
import { isEnded } from './observed-pod.ts';
import type { PodRecord } from './pod-record.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** A node that cannot be reached is asked again by one reader at a time, and so often at most. */
const NODE_PAUSE_MS = 5_000;
const LONGEST_NODE_PAUSE_MS = 300_000;

/** Lines of pods, exactly once each, over whatever ends a stream: rotations, proxies, an API server that restarts. */
export class PodLogs {
  readonly #cluster: ClusterView;
  /** Nodes whose logs could not be read: how often in a row, and when to ask again. */
  readonly #silent = new Map<string, { failures: number; until: number }>();

  constructor(cluster: ClusterView) {
    this.#cluster = cluster;
  }

  async *read(id: string, options: LogsOptions): AsyncGenerator<LogLine> {
    const { follow, signal } = options;
    const place = new LogPlace(options);
    let pod = await this.#cluster.getPod(id);
    for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; ) {
      const isOver = this.#isOver(pod);
      let lines = 0;
      try {
        for await (const line of this.#pass(pod, place, follow && !isOver, signal)) {
          lines += 1;
          yield line;
        }
        if (pod.nodeName) this.#silent.delete(pod.nodeName);
      } catch (error) {
        if (signal.aborted) return;
        if (!follow || !isTransient(error)) throw error;
        if (this.#isOver(pod)) return;
        await this.#awaitNode(pod, signal);
        pod = this.#cluster.now(pod) ?? pod;
        continue;
      }
      if (!follow || isOver) return;
      pauseMs = lines > 0 ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      await this.#awaitChange(pod, pauseMs, signal);
      pod = this.#cluster.now(pod) ?? pod;
    }
  }

  /** One look at what the node has. What is gone has no more lines. */
  async *#pass(pod: PodRecord, place: LogPlace, follow: boolean, signal: AbortSignal): AsyncGenerator<LogLine> {
    const { since } = place.beginPass();
    const sinceTime = since === undefined ? undefined : new Date(Math.floor(since) * 1000).toISOString();
    const text = new LogText();
    try {
      const path = this.#cluster.path('pods', pod.key, 'log');
      const query = { timestamps: true, follow: follow || undefined, sinceTime };
      const stream = await this.#cluster.api.stream({ method: 'GET', path, query, signal });
      for await (const chunk of stream) for (const line of text.take(chunk as Buffer)) if (place.pass(line)) yield line;
    } catch (error) {
      if (signal.aborted || isRefusal(error, 400)) return; // its container has not begun
      if (!isRefusal(error, 404)) throw error;
      if (!place.isBegun && this.#cluster.now(pod)) throw notFound('Workload');
      return;
    }
    // While it is followed, the rest of an open line may yet come; the pass after it gets all of it.
    if (!follow) for (const line of text.end()) if (place.pass(line)) yield line;
  }

  #isOver(pod: PodRecord): boolean {
    const now = this.#cluster.now(pod);
    return now === undefined || isEnded(now) || this.#cluster.lostSince(now) !== null;
  }

  async #awaitChange(pod: PodRecord, atMostMs: number, signal: AbortSignal): Promise<void> {
    const before = this.#cluster.now(pod);
    const until = performance.now() + atMostMs;
    const late = sleep(atMostMs, undefined, { signal, ref: false }).catch(() => {});
    const isChanged = this.#cluster.until(pod, (now) => now !== before || performance.now() >= until || undefined);
    await Promise.race([late, isChanged]);
  }

  /** Nobody asks for a while; then whoever comes first. */
  async #awaitNode({ nodeName }: PodRecord, signal: AbortSignal): Promise<void> {
    const name = nodeName ?? '';
    const known = this.#silent.get(name);
    if (!known || performance.now() >= known.until) {
      const failures = (known?.failures ?? 0) + 1;
      const pauseMs = Math.min(LONGEST_NODE_PAUSE_MS, NODE_PAUSE_MS * 2 ** (failures - 1));
      this.#silent.set(name, { failures, until: performance.now() + pauseMs });
    }
    const pauseMs = this.#silent.get(name)!.until - performance.now();
    await sleep(pauseMs * (1 + Math.random()), undefined, { signal, ref: false }).catch(() => {});
  }
}

function isTransient(error: unknown): boolean {
  return !(error instanceof Failure) || error.kind === 'unavailable';
}
