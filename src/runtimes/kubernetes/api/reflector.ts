/**
 * Keeps the cluster's objects of one kind up to date by a list and a watch after it: reads cost nothing, and the number of
 * requests grows only with what changes. Watches are known to fall silent, hence:
 * - a watch lives for seconds and resumes where it ended. One that does not end in time is aborted, so that a hanging server
 *   or a half-open connection is noticed within half a minute;
 * - the whole list is read again periodically, and when the server no longer has our position (410);
 * - while the server is away, `current()` rejects: the cached objects may be outdated.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, isReported, markReported, messageOf } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { isRefusal } from '../../../engine/refusal.ts';
import type { ApiServer } from './api-server.ts';
import { type ApiObject, type CachedObject, isNewer, ObjectCache, type OnChange } from './objects.ts';

export interface Timing {
  /** How long a watch lives. */
  watchSeconds: number;
  /** How much longer it may take before it is aborted. */
  graceMs: number;
  /** How often the whole list is read again. */
  relistMs: number;
  firstPauseMs: number;
  longestPauseMs: number;
  /** How long `current()` waits for a server that is away. */
  timeoutMs: number;
  /** The same for the first list, which may be long. */
  firstTimeoutMs: number;
}

const TIMING: Timing = {
  watchSeconds: 20,
  graceMs: 8_000,
  relistMs: 600_000,
  firstPauseMs: 100,
  longestPauseMs: 10_000,
  timeoutMs: 3_000,
  firstTimeoutMs: 30_000,
};
const PAGE_SIZE = 500;
/** After a 403, or a 404 of an API that a cluster may lack: neither changes often. */
const REFUSED_PAUSE_MS = 300_000;

interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  object: ApiObject & { code?: number; message?: string };
}

interface ListPage {
  metadata: { resourceVersion: string; continue?: string };
  items: ApiObject[];
}

/** The server no longer has the resource version of the watch. */
class Expired extends Error {}

/** The server closed a watch, or fell silent. */
class WatchEnded extends Failure {}

export class Reflector<T extends CachedObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #timing: Timing;
  readonly #cache = new ObjectCache<T>();
  readonly #ended = new AbortController();
  #isStarted = false;
  #isConnected = false;
  #isListed = false;
  #listedAt = 0;
  /** The resource version up to which every change is known. */
  #version = '0';
  #failure: unknown;
  #connected = Promise.withResolvers<void>();

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
  }

  get(key: string): T | undefined {
    return this.#cache.get(key);
  }

  all(): IterableIterator<T> {
    return this.#cache.all();
  }

  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** True once the list was read; it may be outdated. */
  get isKnown(): boolean {
    return this.#listedAt > 0;
  }

  /** True while the watch is connected: the cached objects are up to date. */
  get isCurrent(): boolean {
    return this.#isConnected;
  }

  /** Starts reading if necessary. Resolves once the cached objects are up to date; rejects while the server is away. */
  async current(): Promise<void> {
    this.start();
    if (this.#isConnected) return;
    if (this.#isRefused(this.#failure)) throw this.#failure;
    const waiting = new AbortController();
    const timeoutMs = this.isKnown ? this.#timing.timeoutMs : this.#timing.firstTimeoutMs;
    const timeout = sleep(timeoutMs, 'timeout' as const, { signal: waiting.signal }).catch(() => {});
    const outcome = await Promise.race([this.#connected.promise, timeout]);
    waiting.abort();
    if (outcome !== 'timeout') return;
    throw this.#failure instanceof Error
      ? this.#failure
      : new Failure('unavailable', 'The Kubernetes API server does not answer');
  }

  start(): void {
    if (this.#isStarted || this.#ended.signal.aborted) return;
    this.#isStarted = true;
    void this.#run(this.#ended.signal);
  }

  /** Stops watching. Pending `current()` calls reject at once. */
  stop(): void {
    this.#ended.abort();
    this.#isConnected = false;
    this.#rejectWaiters(new Failure('unavailable', 'The cluster is no longer watched'));
  }

  subscribe(listener: OnChange<T>): () => void {
    return this.#cache.subscribe(listener);
  }

  /** Stores an object from the response to a request, which may be ahead of the watch. */
  put(object: ApiObject): T {
    const cached = this.#options.transform(object);
    if (isNewer(cached, this.#version)) this.#store(cached);
    return cached;
  }

  /** Removes an object after the server said that it does not exist; the watch may be behind. */
  forget(key: string, uid: string): void {
    const cached = this.#cache.get(key);
    if (cached?.uid === uid) this.#cache.remove(cached);
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      try {
        if (!this.#isListed || performance.now() - this.#listedAt > this.#timing.relistMs) await this.#list(signal);
        await this.#watch(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures = this.#onFailure(error, failures);
        await sleep(this.#pauseMs(error, failures), undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  #onFailure(error: unknown, failures: number): number {
    this.#disconnect();
    if (error instanceof Expired || isRefusal(error, 410)) {
      this.#isListed = false;
      return failures + 1;
    }
    this.#failure = error;
    if (!this.isKnown || this.#isRefused(error)) {
      this.#rejectWaiters(error);
      this.#connected = Promise.withResolvers();
    }
    this.#report(error, failures);
    return failures + 1;
  }

  /** The end of a watch is not a failure by itself: servers are restarted. If the next request has no answer, `ApiOutage` says so. */
  #report(error: unknown, failures: number): void {
    const { logger, name: resource, isOptional } = this.#options;
    if (isOptional && this.#isRefused(error)) logger.debug({ resource }, 'not in this cluster');
    else if (error instanceof WatchEnded) {
      markReported(error); // what waits for the watch fails with it
      logger.debug({ resource, reason: error.message }, 'cluster watch ended');
    } else if (failures === 0 && !isReported(error)) logger.warn({ err: error, resource }, 'cluster watch failed');
  }

  #isRefused(error: unknown): boolean {
    return isRefusal(error, 403) || (this.#options.isOptional === true && isRefusal(error, 404));
  }

  #pauseMs(error: unknown, failures: number): number {
    if (this.#isRefused(error)) return REFUSED_PAUSE_MS;
    const { firstPauseMs, longestPauseMs } = this.#timing;
    return Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(failures - 1, 12)) * (0.5 + Math.random() / 2);
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { api, path, query, transform, isFeed } = this.#options;
    const items: T[] = [];
    let page: ListPage | undefined;
    do {
      const next = page?.metadata.continue || undefined;
      page = await api.json<ListPage>({
        method: 'GET',
        path,
        query: { ...query, limit: isFeed ? 1 : PAGE_SIZE, continue: next },
        signal,
      });
      if (!isFeed) for (const item of page.items) items.push(transform(item));
    } while (page.metadata.continue && !isFeed);
    this.#version = page.metadata.resourceVersion;
    this.#cache.replace(items, this.#version);
    this.#listedAt = performance.now();
    this.#isListed = true;
  }

  /** Resolves when the server ends the watch in time; rejects otherwise. */
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
    const silent = new WatchEnded('unavailable', 'The Kubernetes API server stopped responding during a watch');
    const guard = setTimeout(() => stream.destroy(silent), timeoutSeconds * 1000 + graceMs);
    this.#connect();
    try {
      for await (const event of eventsOf(stream)) this.#apply(event);
    } catch (error) {
      if (error instanceof Expired || error instanceof Failure) throw error;
      throw new WatchEnded('unavailable', `The Kubernetes API server went away: ${messageOf(error)}`, { cause: error });
    } finally {
      clearTimeout(guard);
      stream.destroy();
      this.#disconnect();
    }
  }

  #apply({ type, object }: WatchEvent): void {
    if (type === 'ERROR') {
      if (object.code === 410) throw new Expired();
      throw new Failure(
        'unavailable',
        `The Kubernetes API server ended a watch: ${object.message ?? 'without a reason'}`,
      );
    }
    this.#version = object.metadata.resourceVersion;
    if (type === 'BOOKMARK') return;
    const cached = this.#options.transform(object);
    if (type !== 'DELETED') this.#store(cached);
    else if (!this.#options.isFeed) this.#cache.remove(cached);
  }

  #store(object: T): void {
    if (this.#options.isFeed) this.#cache.notify('put', object, undefined);
    else this.#cache.put(object);
  }

  #rejectWaiters(error: unknown): void {
    this.#connected.promise.catch(() => {}); // there may be no waiter
    this.#connected.reject(error);
  }

  #connect(): void {
    if (this.#failure !== undefined) {
      this.#options.logger.info({ resource: this.#options.name }, 'cluster watch restored');
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

export interface ReflectorOptions<T extends CachedObject> {
  api: ApiServer;
  /** For log lines. */
  name: string;
  path: string;
  query?: Readonly<Record<string, string>>;
  /** Returns what to keep of an object: as little as possible. */
  transform(object: ApiObject): T;
  /** Reports only new objects, and keeps none. */
  isFeed?: boolean;
  /** The cluster may lack the API: `current()` then rejects at once with its 404. */
  isOptional?: boolean;
  logger: Logger;
  timing?: Partial<Timing>;
}

/** Parses a stream of JSON texts, one per line. */
async function* eventsOf(stream: AsyncIterable<unknown>): AsyncGenerator<WatchEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk as Buffer, { stream: true })).split('\n');
    rest = lines.pop()!;
    for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent;
  }
}
