/**
 * Fetches files in a thread of its own, which starts with the first fetch and ends when it has had nothing to do for a while: hashing and
 * reading a gigabyte takes a second of CPU, in which this process would answer no requests.
 */
import { Worker } from 'node:worker_threads';
import { Failure, messageOf } from '../../core/errors.ts';
import { programFile } from '../../core/files/own-package.ts';
import type { PinnedFile } from '../../domain/models/pinned-model.ts';
import type { FileOrigin, OnSize, SlowRule } from './fetch-file.ts';
import type { Reach } from './http-get.ts';

const THREAD = programFile('models/fetch/fetch-thread');
const IDLE_MS = 10_000;
/** Little is kept in its heap: buffers are collected sooner. */
const SMALL = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 128 };

/** For all fetches of a thread. */
export interface ThreadOptions {
  bytesPerSecond: number | null;
  retryMs: number;
  slow?: SlowRule;
}

export type ToThread =
  | {
      do: 'fetch';
      id: number;
      origin: Omit<FileOrigin, 'url' | 'reach'> & { url: string; isReached: boolean };
      file: PinnedFile;
      path: string;
    }
  | { do: 'abort'; id: number }
  | {
      do: 'reach';
      call: number;
      place?: Awaited<ReturnType<Reach['resolve']>>;
      refusal?: { name: string; message: string };
    };

export type FromThread =
  | { id: number; is: 'here'; size: number; received: number }
  | { id: number; is: 'done' }
  | { id: number; is: 'failed'; failure: { kind: Failure['kind']; message: string; cause: string } }
  /** Where may it connect to for this URL? */
  | { id: number; is: 'reaching'; call: number; url: string };

interface Fetching {
  reach: Reach | null;
  onSize: OnSize;
  end: (failure: Failure | null) => void;
}

export class FileFetcher {
  readonly #options: ThreadOptions;
  readonly #fetches = new Map<number, Fetching>();
  #thread: Worker | null = null;
  #lastId = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  /** As `fetchFile`; `onSize` is called a few times a second. Rejects with the reason of `signal` once the fetch has closed the file. */
  async fetch(
    { url, reach, ...origin }: FileOrigin,
    file: PinnedFile,
    { path, onSize, signal }: { path: string; onSize: OnSize; signal: AbortSignal },
  ): Promise<void> {
    signal.throwIfAborted();
    const thread = this.#start();
    this.#lastId += 1;
    const id = this.#lastId;
    const post = (message: ToThread) => thread.postMessage(message);
    const abort = () => post({ do: 'abort', id });
    signal.addEventListener('abort', abort, { once: true });
    try {
      const failure = await new Promise<Failure | null>((end) => {
        this.#fetches.set(id, { reach, onSize, end });
        post({ do: 'fetch', id, origin: { ...origin, url: url.href, isReached: reach !== null }, file, path });
      });
      if (failure === null) return;
      signal.throwIfAborted();
      throw failure;
    } finally {
      signal.removeEventListener('abort', abort);
      this.#fetches.delete(id);
      if (this.#fetches.size === 0) this.#idle = setTimeout(() => this.#stop(), IDLE_MS).unref();
    }
  }

  #start(): Worker {
    clearTimeout(this.#idle);
    if (this.#thread) return this.#thread;
    const thread = new Worker(THREAD, { workerData: this.#options, execArgv: [], resourceLimits: SMALL });
    thread.unref();
    thread.on('message', (message: FromThread) => this.#take(thread, message));
    thread.on('error', (error) => this.#lose(thread, messageOf(error)));
    thread.on('exit', () => this.#lose(thread, 'the thread that fetches has ended'));
    this.#thread = thread;
    return thread;
  }

  #stop(): void {
    void this.#thread?.terminate();
    this.#thread = null;
  }

  #take(thread: Worker, message: FromThread): void {
    const fetching = this.#fetches.get(message.id);
    if (message.is === 'reaching') void this.#reach(thread, fetching?.reach ?? null, message);
    else if (message.is === 'here') fetching?.onSize(message.size, message.received);
    else if (message.is === 'done') fetching?.end(null);
    else {
      const { kind, message: text, cause } = message.failure;
      fetching?.end(new Failure(kind, text, { cause: new Error(cause) }));
    }
  }

  async #reach(thread: Worker, reach: Reach | null, { call, url }: { call: number; url: string }): Promise<void> {
    const answer = await Promise.resolve(reach?.resolve(new URL(url))).then(
      (place) => ({ ...(place && { place }) }),
      (error: Error) => ({ refusal: { name: error.name, message: messageOf(error) } }),
    );
    thread.postMessage({ do: 'reach', call, ...answer } satisfies ToThread);
  }

  /** Its fetches go on with the next start, in another thread. */
  #lose(thread: Worker, why: string): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    for (const { end } of this.#fetches.values()) end(new Failure('unavailable', `the fetch was interrupted: ${why}`));
  }
}
