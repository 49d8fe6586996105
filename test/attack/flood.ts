import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** The requests of a flood, and how they are sent. */
export interface FloodTask {
  port: number;
  /** Its address; default: 127.0.0.1. */
  from?: string;
  /** One request, which is pipelined; or bytes in latin1 that are repeated after the `opening`. */
  request: string;
  /** The first bytes of each connection. */
  openings?: readonly string[];
  connections: number;
  /** False: it reads no answer. */
  reads: boolean;
  /** Each connection sends one request, and is replaced by a new one once the answer begins. */
  renews: boolean;
}

export interface FloodCounts {
  opened: number;
  answers: number;
}

/** A hostile client at full speed, until it is stopped. */
export class Flood {
  readonly #thread: Worker;
  #counts: FloodCounts = { opened: 0, answers: 0 };

  /** Resolves once all its connections were begun. */
  static async start(task: FloodTask): Promise<Flood> {
    const thread = new Worker(new URL('./flood-thread.ts', import.meta.url), { workerData: task });
    const flood = new Flood(thread);
    await once(thread, 'message');
    return flood;
  }

  private constructor(thread: Worker) {
    this.#thread = thread;
    thread.on('message', (counts: FloodCounts) => {
      this.#counts = counts;
    });
  }

  /** Its answers when it last reported them. */
  get counts(): FloodCounts {
    return this.#counts;
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }
}
