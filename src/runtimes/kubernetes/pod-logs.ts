import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, notFound } from '../../core/errors.ts';
import { LogPlace } from '../docker/log-frames.ts';
import type { LogLine, LogsOptions } from '../runtime.ts';
import { ApiError, isRefusal } from './api-server.ts';
import type { ClusterView } from './cluster-view.ts';
import { LogText } from './log-text.ts';
import { type NodeTurn, NodeTurns } from './node-turns.ts';
import { isEnded } from './observed-pod.ts';
import type { PodRecord } from './pod-record.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const SERVER_PAUSE_MS = 1_000;
/** Of what is followed the answer begins with the first line; a program may print none for a long time. */
const FOLLOW_MS = 3_600_000;
/** Nodes that have something to say begin sooner. */
const QUIET_MS = 500;

/** Lines of pods, exactly once each, over whatever ends a stream: rotations, proxies, an API server that restarts. */
export class PodLogs {
  readonly #cluster: ClusterView;
  readonly #turns = new NodeTurns();

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
      } catch (error) {
        if (signal.aborted) return;
        if (!follow || !isTransient(error)) throw error;
        if (this.#isOver(pod)) return;
        await this.#awaitServer(signal);
      }
      if (!follow || isOver) return;
      pauseMs = lines > 0 ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
      await this.#awaitChange(pod, pauseMs, signal);
      pod = this.#cluster.now(pod) ?? pod;
    }
  }

  /** One look at what the node has. What is gone has no more lines. */
  async *#pass(pod: PodRecord, place: LogPlace, follow: boolean, signal: AbortSignal): AsyncGenerator<LogLine> {
    const text = new LogText();
    try {
      const stream = await this.#open(pod, place, follow, signal);
      if (!stream) return;
      for await (const chunk of stream) for (const line of text.take(chunk as Buffer)) if (place.pass(line)) yield line;
    } catch (error) {
      if (signal.aborted || isRefusal(error, 400)) return; // its container has not begun
      if (!isRefusal(error, 404)) throw error;
      if (!place.hasStarted && this.#cluster.now(pod)) throw notFound('Workload');
      return;
    }
    // While it is followed, the rest of an open line may yet come; the pass after it gets all of it.
    if (!follow) for (const line of text.end()) if (place.pass(line)) yield line;
  }

  async #open(pod: PodRecord, place: LogPlace, follow: boolean, signal: AbortSignal): Promise<Readable | undefined> {
    const turn = follow ? await this.#awaitTurn(pod, signal) : undefined;
    if (signal.aborted) return undefined;
    const { since } = place.beginPass();
    const sinceTime = since === undefined ? undefined : new Date(Math.floor(since) * 1000).toISOString();
    const quiet = setTimeout(() => turn?.quiet(), QUIET_MS);
    try {
      const path = this.#cluster.path('pods', pod.key, 'log');
      const query = { timestamps: true, follow: follow || undefined, sinceTime };
      const timeout = follow ? { timeoutMs: FOLLOW_MS } : {};
      const stream = await this.#cluster.api.stream({ method: 'GET', path, query, signal, ...timeout });
      turn?.heard();
      return stream;
    } catch (error) {
      if (isOfNode(error)) {
        if (!signal.aborted && this.#cluster.pods.isCurrent) turn?.failed();
      } else if (!isRefusal(error, 404)) turn?.heard(); // the 404 is the API server's own word
      throw error;
    } finally {
      clearTimeout(quiet);
      turn?.end();
    }
  }

  /** Undefined once the pod begins to end, too: its lines are to be had now or never, and nobody's turn is waited for. */
  async #awaitTurn(pod: PodRecord, signal: AbortSignal): Promise<NodeTurn | undefined> {
    const end = new AbortController();
    const look = () => {
      if (this.#cluster.now(pod)?.isDeleting !== false) end.abort();
    };
    const leave = this.#cluster.listen(pod, look);
    look();
    try {
      return await this.#turns.take(pod.nodeName ?? '', AbortSignal.any([signal, end.signal]));
    } finally {
      leave();
    }
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

  /** While the API server is away it is not the nodes' fault. */
  async #awaitServer(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#cluster.pods.isCurrent) {
      await sleep(SERVER_PAUSE_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

function isTransient(error: unknown): boolean {
  return !(error instanceof Failure) || error.kind === 'unavailable';
}

/** Whether it tells of the node, which the API server could not reach, or of the server itself, and not of one pod. */
function isOfNode(error: unknown): boolean {
  const answer = error instanceof Failure ? error.cause : error;
  return !(answer instanceof ApiError) || /\bGet "?https?:|\bdial\b/.test(answer.message);
}
