import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

export interface BystanderTask {
  url: string;
  /** Default: GET. */
  method?: string;
  headers: Record<string, string>;
  body?: string;
  /** The answer has no end: it is there once its first bytes are, and each request has a connection of its own. */
  isStream?: boolean;
  /** A terminal that echoes its input: it connects to the URL, and each question is a line. */
  terminal?: { protocols: string[] };
  /** Its address; default: 127.0.0.1. */
  from?: string;
}

/** How long each answer took, and how late the timer after it was, in ms; what was not answered with 200. */
export interface Waits {
  waits: number[];
  late: number[];
  faults: string[];
}

/** A client that asks for one thing all the time, in a thread of its own: that of the test has other things to do. */
export class Bystander {
  readonly #thread: Worker;

  constructor(task: BystanderTask) {
    this.#thread = new Worker(new URL('./bystander-thread.ts', import.meta.url), { workerData: task });
  }

  /** Continues for up to five times as long until there are at least this many. */
  async measure(durationMs: number, atLeast = 0): Promise<Waits> {
    this.#thread.postMessage({ durationMs, atLeast });
    const [waits] = (await once(this.#thread, 'message')) as [Waits];
    return waits;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
}
