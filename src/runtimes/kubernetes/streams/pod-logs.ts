import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, notFound } from '../../../core/errors.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import { type LineParser, LogPlace, MAX_LINE_CHARACTERS, readLines } from '../../log-lines.ts';
import type { LogLine, LogsOptions } from '../../runtime.ts';
import { ApiError } from '../api/api-server.ts';
import type { ClusterView } from '../pods/cluster-view.ts';
import { isEnded } from '../pods/observed-pod.ts';
import { CONTAINER, type PodRecord } from '../pods/pod-record.ts';
import { NodeCircuitBreaker, type NodePermit } from './node-circuit-breaker.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const SERVER_PAUSE_MS = 1_000;
/** A follow request has no response before the first line, and a program may print none for a long time. */
const FOLLOW_MS = 3_600_000;
/** When a node has not answered by then, its program is taken to be silent. */
const SILENT_MS = 500;

/** Reads lines of pods exactly once, across anything that ends a stream: rotations, proxies, restarts of the API server. */
export class PodLogs {
  readonly #cluster: ClusterView;
  readonly #nodes = new NodeCircuitBreaker();

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

  /** See `Runtime.lastOutput`: a cluster keeps stdout and stderr together. */
  async last(id: string, count: number): Promise<string[]> {
    const pod = await this.#cluster.findPod(id);
    if (!pod) return [];
    try {
      const path = this.#cluster.path('pods', pod.key, 'log');
      const query = { container: CONTAINER, timestamps: true, tailLines: count };
      const stream = await this.#cluster.api.stream({ method: 'GET', path, query });
      return (await readLines(stream, new LogText())).slice(-count);
    } catch (error) {
      if (isRefusal(error, 400) || isRefusal(error, 404)) return []; // its container has not started, or it is gone
      throw error;
    }
  }

  /** One pass over what the node has. A pod that is gone has no more lines. */
  async *#pass(pod: PodRecord, place: LogPlace, follow: boolean, signal: AbortSignal): AsyncGenerator<LogLine> {
    const text = new LogText();
    try {
      const stream = await this.#open(pod, place, follow, signal);
      if (!stream) return;
      for await (const chunk of stream) for (const line of text.take(chunk as Buffer)) if (place.pass(line)) yield line;
    } catch (error) {
      if (signal.aborted || isRefusal(error, 400)) return; // its container has not started
      if (!isRefusal(error, 404)) throw error;
      if (!place.hasStarted && this.#cluster.now(pod)) throw notFound('Workload');
      return;
    }
    // While following, the rest of an open line may still come; the pass after it gets all of it.
    if (!follow) for (const line of text.end()) if (place.pass(line)) yield line;
  }

  async #open(pod: PodRecord, place: LogPlace, follow: boolean, signal: AbortSignal): Promise<Readable | undefined> {
    const permit = follow ? await this.#awaitPermit(pod, signal) : undefined;
    if (signal.aborted) return undefined;
    const { since } = place.beginPass();
    const sinceTime = since === undefined ? undefined : new Date(Math.floor(since) * 1000).toISOString();
    const silent = setTimeout(() => permit?.pending(), SILENT_MS);
    try {
      const path = this.#cluster.path('pods', pod.key, 'log');
      const query = { container: CONTAINER, timestamps: true, follow: follow || undefined, sinceTime };
      const timeout = follow ? { timeoutMs: FOLLOW_MS } : {};
      const stream = await this.#cluster.api.stream({ method: 'GET', path, query, signal, ...timeout });
      permit?.succeeded();
      return stream;
    } catch (error) {
      if (isNodeFailure(error)) {
        if (!signal.aborted && this.#cluster.pods.isCurrent) permit?.failed();
      } else if (!isRefusal(error, 404)) permit?.succeeded(); // a 404 comes from the API server itself
      throw error;
    } finally {
      clearTimeout(silent);
      permit?.end();
    }
  }

  /** Resolves with undefined once the pod is ending: its lines must be read now, without waiting for a permit. */
  async #awaitPermit(pod: PodRecord, signal: AbortSignal): Promise<NodePermit | undefined> {
    const ending = new AbortController();
    const check = () => {
      if (this.#cluster.now(pod)?.isDeleting !== false) ending.abort();
    };
    const leave = this.#cluster.listen(pod, check);
    check();
    try {
      return await this.#nodes.acquire(pod.nodeName ?? '', AbortSignal.any([signal, ending.signal]));
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
    const deadline = performance.now() + atMostMs;
    const timeout = sleep(atMostMs, undefined, { signal, ref: false }).catch(() => {});
    const isChanged = this.#cluster.until(pod, (now) => now !== before || performance.now() >= deadline || undefined);
    await Promise.race([timeout, isChanged]);
  }

  /** Waits while the API server is away, which is not the nodes' fault. */
  async #awaitServer(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#cluster.pods.isCurrent) {
      await sleep(SERVER_PAUSE_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}

function isTransient(error: unknown): boolean {
  return !(error instanceof Failure) || error.kind === 'unavailable';
}

/** True when the error is about the node, which the API server could not reach, or about the API server, and not about one pod. */
function isNodeFailure(error: unknown): boolean {
  const answer = error instanceof Failure ? error.cause : error;
  return !(answer instanceof ApiError) || /\bGet "?https?:|\bdial\b/.test(answer.message);
}

/** Parses the log of a pod, lines of `<time> <text>`. A line without a time is the kubelet's own, e.g. about a missing file. */
export class LogText implements LineParser {
  readonly #decoder = new TextDecoder();
  #rest = '';

  *take(chunk: Buffer): Generator<LogLine> {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = lines.pop()!;
    for (const line of lines) yield* piecesOf(line);
  }

  end(): LogLine[] {
    return this.#rest === '' ? [] : [...piecesOf(this.#rest)];
  }
}

function* piecesOf(text: string): Generator<LogLine> {
  const blank = text.indexOf(' ');
  const stamp = blank === -1 ? text : text.slice(0, blank);
  const ts = new Date(stamp);
  if (Number.isNaN(ts.getTime())) return;
  const line = text.slice(stamp.length + 1).replace(/\r$/, '');
  for (let at = 0; at === 0 || at < line.length; at += MAX_LINE_CHARACTERS) {
    yield { ts, line: line.slice(at, at + MAX_LINE_CHARACTERS) };
  }
}
