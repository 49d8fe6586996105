/**
 * What the cluster has of one kind, kept up to date by a list and a watch after it, so that asking costs nothing and
 * requests grow with what changes. Watches are known to fall silent, hence:
 * - a watch lives for some seconds only and is begun again where it ended; one that does not end by itself in time is
 *   given up, so that a server that hangs or a connection that is half open is found out within half a minute;
 * - the whole list is read again now and then, and whenever the server has forgotten where we were (410);
 * - while the server is away `current()` rejects: what is kept is not what there is.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { type ApiServer, isRefusal } from './api-server.ts';
import type { ApiObject } from './objects.ts';

/** What is kept of an object. */
export interface Kept {
  /** Unique within what is watched. */
  key: string;
  uid: string;
  resourceVersion: string;
}

export interface Timing {
  /** How long a watch lives. */
  watchSeconds: number;
  /** How much longer it may take before it is given up. */
  graceMs: number;
  relistMs: number;
  firstPauseMs: number;
  longestPauseMs: number;
  /** How long `current()` waits for a server that is away; and for the first list, which may be long. */
  patienceMs: number;
  firstPatienceMs: number;
}

const TIMING: Timing = {
  watchSeconds: 20,
  graceMs: 8_000,
  relistMs: 600_000,
  firstPauseMs: 100,
  longestPauseMs: 10_000,
  patienceMs: 3_000,
  firstPatienceMs: 30_000,
};
const PAGE = 500;
/** What we may not read will not be allowed in a minute. */
const REFUSED_PAUSE_MS = 300_000;

/** `gone`: the object as it was last seen. */
export type OnChange<T> = (kind: 'put' | 'gone', object: T, before: T | undefined) => void;

interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: ApiObject & { code?: number; message?: string };
}

interface ListPage {
  metadata: { resourceVersion: string; continue?: string };
  items: ApiObject[];
}

class OutOfDate extends Error {}

export class Reflector<T extends Kept> {
  readonly #options: ReflectorOptions<T>;
  readonly #timing: Timing;
  readonly #objects = new Map<string, T>();
  readonly #listeners = new Set<OnChange<T>>();
  readonly #ended = new AbortController();
  #isStarted = false;
  #isConnected = false;
  #isListed = false;
  #listedAt = 0;
  /** Everything up to here is known. */
  #version = '0';
  #failure: unknown;
  #connected = Promise.withResolvers<void>();

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
  }

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  all(): IterableIterator<T> {
    return this.#objects.values();
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** Whether it was ever read; what is kept may be old. */
  get isKnown(): boolean {
    return this.#listedAt > 0;
  }

  /** Whether what is kept is what there is. */
  get isCurrent(): boolean {
    return this.#isConnected;
  }

  /** Begins to read, if nobody did yet; resolves when what is kept is what there is, rejects when nobody can tell. */
  async current(): Promise<void> {
    this.start();
    if (this.#isConnected) return;
    if (isRefusal(this.#failure, 403)) throw this.#failure;
    const waited = new AbortController();
    const { patienceMs, firstPatienceMs } = this.#timing;
    const late = sleep(this.isKnown ? patienceMs : firstPatienceMs, 'late' as const, { signal: waited.signal }).catch(
      () => {},
    );
    const outcome = await Promise.race([this.#connected.promise, late]);
    waited.abort();
    if (outcome !== 'late') return;
    throw this.#failure instanceof Error
      ? this.#failure
      : new Failure('unavailable', 'The Kubernetes API server does not answer');
  }

  start(): void {
    if (this.#isStarted || this.#ended.signal.aborted) return;
    this.#isStarted = true;
    void this.#run(this.#ended.signal);
  }

  /** Whoever waits is told at once. */
  stop(): void {
    this.#ended.abort();
    this.#isConnected = false;
    this.#refuseWaiters(new Failure('unavailable', 'The cluster is not watched any more'));
  }

  subscribe(listener: OnChange<T>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes in what the answer to a request said, which may be ahead of the watch. */
  put(object: ApiObject): T {
    const kept = this.#options.keep(object);
    if (isNewer(kept, this.#version)) this.#store(kept);
    return kept;
  }

  /** The server has said that it is not there; the watch may be behind. */
  forget(key: string, uid: string): void {
    const known = this.#objects.get(key);
    if (known?.uid === uid) this.#drop(known);
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (!this.#isListed || performance.now() - this.#listedAt > this.#timing.relistMs) await this.#list(signal);
        await this.#watch(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures = this.#noteFailure(error, failures);
        await sleep(this.#pauseMs(error, failures), undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  #noteFailure(error: unknown, failures: number): number {
    this.#disconnect();
    if (error instanceof OutOfDate || isRefusal(error, 410)) {
      this.#isListed = false;
      return failures + 1;
    }
    this.#failure = error;
    if (!this.isKnown || isRefusal(error, 403)) {
      this.#refuseWaiters(error);
      this.#connected = Promise.withResolvers();
    }
    const fields = { err: error, resource: this.#options.name };
    if (failures === 0) this.#options.logger.warn(fields, `the cluster cannot be watched: ${messageOf(error)}`);
    return failures + 1;
  }

  #pauseMs(error: unknown, failures: number): number {
    if (isRefusal(error, 403)) return REFUSED_PAUSE_MS;
    const { firstPauseMs, longestPauseMs } = this.#timing;
    return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 12)) * (0.5 + Math.random() / 2);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { api, path, query, keep, isFeed } = this.#options;
    const items: T[] = [];
    let page: ListPage | undefined;
    do {
      const next = page?.metadata.continue || undefined;
      page = await api.json<ListPage>({
        method: 'GET',
        path,
        query: { ...query, limit: isFeed ? 1 : PAGE, continue: next },
        signal,
      });
      if (!isFeed) for (const item of page.items) items.push(keep(item));
    } while (page.metadata.continue && !isFeed);
    this.#replace(items, page.metadata.resourceVersion);
    this.#listedAt = performance.now();
    this.#isListed = true;
  }

  #replace(items: readonly T[], version: string): void {
    const listed = new Set(items.map(({ key }) => key));
    this.#version = version;
    for (const item of items) this.#store(item);
    for (const before of [...this.#objects.values()]) {
      if (!listed.has(before.key) && !isNewer(before, version)) this.#drop(before);
    }
  }

  /** Resolves when the server ends the watch in time, rejects otherwise. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { api, path, query } = this.#options;
    const { watchSeconds, graceMs } = this.#timing;
    const timeoutSeconds = Math.ceil(watchSeconds * (0.75 + Math.random() / 4));
    const watch = { watch: true, allowWatchBookmarks: true, resourceVersion: this.#version, timeoutSeconds };
    const stream = await api.stream({
      method: 'GET',
      path,
      query: { ...query, ...watch },
      timeoutMs: graceMs,
      signal,
    });
    const silent = new Failure('unavailable', 'The Kubernetes API server fell silent during a watch');
    const guard = setTimeout(() => stream.destroy(silent), timeoutSeconds * 1000 + graceMs);
    this.#connect();
    try {
      for await (const event of eventsOf(stream)) this.#take(event);
    } catch (error) {
      if (error instanceof OutOfDate || error instanceof Failure) throw error;
      throw new Failure('unavailable', `The Kubernetes API server went away: ${messageOf(error)}`, { cause: error });
    } finally {
      clearTimeout(guard);
      stream.destroy();
      this.#disconnect();
    }
  }

  #take({ type, object }: WatchEvent): void {
    if (type === 'ERROR') {
      if (object.code === 410) throw new OutOfDate();
      throw new Failure(
        'unavailable',
        `The Kubernetes API server ended a watch: ${object.message ?? 'without a word'}`,
      );
    }
    this.#version = object.metadata.resourceVersion;
    if (type === 'BOOKMARK') return;
    const kept = this.#options.keep(object);
    if (type !== 'DELETED') this.#store(kept);
    else if (this.#options.isFeed !== true) this.#drop(kept);
  }

  #store(kept: T): void {
    if (this.#options.isFeed) {
      this.#tell('put', kept, undefined);
      return;
    }
    const before = this.#objects.get(kept.key);
    if (before?.uid === kept.uid && !isNewer(kept, before.resourceVersion)) return;
    this.#objects.set(kept.key, kept);
    this.#tell('put', kept, before?.uid === kept.uid ? before : undefined);
  }

  #drop(last: T): void {
    const before = this.#objects.get(last.key);
    if (before && before.uid !== last.uid) return; // another one has taken its name
    this.#objects.delete(last.key);
    this.#tell('gone', last, before);
  }

  #tell(kind: 'put' | 'gone', object: T, before: T | undefined): void {
    for (const listener of [...this.#listeners]) listener(kind, object, before);
  }

  #refuseWaiters(error: unknown): void {
    this.#connected.promise.catch(() => {}); // perhaps nobody waits
    this.#connected.reject(error);
  }

  #connect(): void {
    if (this.#failure !== undefined) {
      this.#options.logger.info({ resource: this.#options.name }, 'the cluster is watched again');
    }
    this.#failure = undefined;
    this.#isConnected = true;
    this.#connected.resolve();
  }

  #disconnect(): void {
    if (!this.#isConnected) return;
    this.#isConnected = false;
    this.#connected = Promise.withResolvers();
  }
}

export interface ReflectorOptions<T extends Kept> {
  api: ApiServer;
  /** In log lines. */
  name: string;
  path: string;
  query?: Readonly<Record<string, string>>;
  /** What is kept of an object: as little as will do. */
  keep(object: ApiObject): T;
  /** Only what comes from now on is told, and nothing is kept. */
  isFeed?: boolean;
  logger: Logger;
  timing?: Partial<Timing>;
}

/** The versions of one kind are numbers that grow. */
function isNewer({ resourceVersion }: Kept, than: string): boolean {
  return Number(resourceVersion) > Number(than);
}

/** JSON texts, one a line. */
async function* eventsOf(stream: AsyncIterable<unknown>): AsyncGenerator<WatchEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent;
  }
}
