import type { Logger } from '../logger.ts';
import { SeldomLog } from '../seldom-log.ts';
import { Loop, type NextRun } from './loop.ts';

/**
 * A loop whose run is cut off when it stops, because the next leader does the work again. Each run gets the signal, and a log for what may
 * fail every time.
 */
export class CutLoop {
  readonly #loop: Loop;
  readonly #log: SeldomLog;
  #stopping = new AbortController();

  constructor({
    runOnce,
    ...options
  }: {
    name: string;
    tickMs: number;
    logger: Logger;
    runOnce: (signal: AbortSignal, log: SeldomLog) => Promise<NextRun | undefined>;
  }) {
    this.#log = new SeldomLog(options.logger);
    this.#loop = new Loop({ ...options, runOnce: () => runOnce(this.#stopping.signal, this.#log) });
  }

  start(): void {
    this.#stopping = new AbortController();
    this.#loop.start();
  }

  wake(): void {
    this.#loop.wake();
  }

  runOnce(): Promise<void> {
    return this.#loop.runOnce();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop.stop();
    this.#log.close();
  }
}
